package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/suggest"
)

// errSweep is returned for an invalid sweep, or if the scenario does not have the swept fault.
var errSweep = errors.New("sweep")

const (
	defaultPoints = 8
	maxPoints     = 200 // each point is at least one run
)

// Sweep is a range of sizes of one fault, evenly spaced.
type Sweep struct {
	Parameter string // as written: "pause/lease"
	Points    []faults.Span
	swept     swept
}

// swept is a parameter of a fault.
type swept struct {
	faults.Kind
}

// positive reports whether it is a length, of which 0 means forever.
func (s swept) positive() bool { return !s.Needs("by") }

// set sets the size: By, or the length, without Until, which could prolong it.
func (s swept) set(f *faults.Spec, size faults.Span) {
	if s.Needs("by") {
		f.By = size
		return
	}
	f.For, f.Until = size, ""
}

const inLeases = "/lease"

// ParseSweep parses "pause/lease=0.2..3.0", "clock-jump=100ms..2s" or
// "failover-lag=10ms..500ms/20": a parameter, the first and the last size, and optionally the
// number of points. With /lease the sizes are in leases.
func ParseSweep(text string) (Sweep, error) {
	name, sizes, ok := strings.Cut(text, "=")
	if !ok {
		return Sweep{}, fmt.Errorf("%w %q: want NAME=FROM..TO, such as pause/lease=0.2..3.0", errSweep, text)
	}
	plain, leases := strings.CutSuffix(name, inLeases)
	all := slices.DeleteFunc(faults.Kinds(), func(k faults.Kind) bool { return k.Sweep == "" })
	i := slices.IndexFunc(all, func(k faults.Kind) bool { return k.Sweep == plain })
	if i < 0 {
		var names []string
		for _, k := range all {
			names = append(names, k.Sweep)
		}
		known := cmp.Or(suggest.Hint(plain, names), fmt.Sprintf("; known are %s, each with or without %s", strings.Join(names, ", "), inLeases))
		return Sweep{}, fmt.Errorf("%w %q: unknown parameter %q%s", errSweep, text, plain, known)
	}
	from, to, n, err := sizesOf(sizes, leases)
	if err != nil {
		return Sweep{}, fmt.Errorf("%w %q: %w", errSweep, text, err)
	}
	if least := from; (swept{all[i]}).positive() && (least.Fixed < 0 || least.Leases < 0 || least == (faults.Span{})) {
		return Sweep{}, fmt.Errorf("%w %q: FROM must be more than 0", errSweep, text)
	}
	return Sweep{Parameter: name, Points: spread(from, to, n), swept: swept{all[i]}}, nil
}

// sizesOf parses FROM..TO and, after a slash, the number of points.
func sizesOf(text string, leases bool) (from, to faults.Span, n int, err error) {
	n = defaultPoints
	text, points, given := strings.Cut(text, "/")
	if given {
		if n, err = strconv.Atoi(points); err != nil || n < 2 || n > maxPoints {
			return from, to, n, fmt.Errorf("%q points: want a number from 2 to %d", points, maxPoints)
		}
	}
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		return from, to, n, fmt.Errorf("%q: want FROM..TO", text)
	}
	if from, err = size(first, leases); err != nil {
		return from, to, n, fmt.Errorf("FROM: %w", err)
	}
	if to, err = size(last, leases); err != nil {
		return from, to, n, fmt.Errorf("TO: %w", err)
	}
	if to.Leases < from.Leases || to.Fixed < from.Fixed || to == from {
		return from, to, n, fmt.Errorf("TO %s must be more than FROM %s", last, first)
	}
	return from, to, n, nil
}

func size(text string, leases bool) (faults.Span, error) {
	if !leases {
		return faults.ParseSpan(text)
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return faults.Span{}, fmt.Errorf("%q: want a number of leases, such as 0.2", text)
	}
	return faults.Span{Leases: f}, nil
}

// spread returns n evenly spaced sizes, rounded for readers.
func spread(from, to faults.Span, n int) []faults.Span {
	out := make([]faults.Span, n)
	for i := range out {
		share := float64(i) / float64(n-1)
		leases := from.Leases + share*(to.Leases-from.Leases)
		out[i] = faults.Span{
			Leases: math.Round(leases*1000) / 1000,
			Fixed:  (from.Fixed + faults.Span{Leases: share}.Of(to.Fixed-from.Fixed)).Round(grain(to.Fixed - from.Fixed)),
		}
	}
	return out
}

// grain returns the rounding for a range of sizes.
func grain(of time.Duration) time.Duration {
	if of < maxPoints*time.Millisecond {
		return time.Microsecond
	}
	return time.Millisecond
}

// At returns the scenario with every fault of the swept kind at a size. It is an error if there is
// no such fault.
func (s Scenario) At(sweep Sweep, size faults.Span) (Scenario, error) {
	s.Faults = slices.Clone(s.Faults)
	found := false
	for i := range s.Faults {
		if s.Faults[i].Fault == sweep.swept.Name {
			sweep.swept.set(&s.Faults[i], size)
			found = true
		}
	}
	if !found {
		return s, fmt.Errorf("%w %s: scenario %s has no %s", errSweep, sweep.Parameter, s.Name, sweep.swept.Name)
	}
	return s, nil
}
