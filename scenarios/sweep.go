package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// ErrSweep: a sweep is written wrongly, or the scenario has nothing that it could change.
var ErrSweep = errors.New("sweep")

// DefaultPoints is how many points a sweep has that does not say.
const DefaultPoints = 8

// maxPoints bounds a sweep: each point is at least one run.
const maxPoints = 200

// Sweep is a range of sizes of one fault, evenly spaced.
type Sweep struct {
	Parameter string // as it was written: "pause/lease"
	Points    []faults.Span
	swept     swept
}

// swept is what a parameter changes.
type swept struct {
	name     string
	fault    string
	positive bool // a size of 0 means for ever
	set      func(f *faults.Spec, size faults.Span)
}

// lasts changes how long a fault lasts. What it would also have waited for is dropped: it would hide the size.
func lasts(f *faults.Spec, size faults.Span) { f.For, f.Until = size, "" }

func by(f *faults.Spec, size faults.Span) { f.By = size }

func parameters() []swept {
	return []swept{
		{"pause", faults.PauseClient, true, lasts},
		{"work", faults.SlowWork, true, lasts},
		{"reply-delay", faults.DelayReply, true, lasts},
		{"request-delay", faults.DelayRequest, true, lasts},
		{"server-pause", faults.PauseServer, true, lasts},
		{"restart-delay", faults.KillServer, true, lasts},
		{"failover-lag", faults.Failover, true, lasts},
		{"clock-jump", faults.JumpClock, false, by},
		{"clock-skew", faults.SkewClient, false, by},
		{"network-delay", faults.SlowNetwork, false, by},
	}
}

// SweepParameters lists what can be swept, by name; each may be followed by "/lease".
func SweepParameters() []string {
	var names []string
	for _, p := range parameters() {
		names = append(names, p.name)
	}
	return names
}

const inLeases = "/lease"

// ParseSweep reads "pause/lease=0.2..3.0", "clock-jump=100ms..2s" or "failover-lag=10ms..500ms/20": a parameter, the first and the last
// size, and how many points there are. With /lease the sizes are numbers, in leases. The errors are ErrSweep and say what was expected.
func ParseSweep(text string) (Sweep, error) {
	name, sizes, ok := strings.Cut(text, "=")
	if !ok {
		return Sweep{}, fmt.Errorf("%w %q: want NAME=FROM..TO, such as pause/lease=0.2..3.0", ErrSweep, text)
	}
	plain, leases := strings.CutSuffix(name, inLeases)
	all := parameters()
	i := slices.IndexFunc(all, func(p swept) bool { return p.name == plain })
	if i < 0 {
		return Sweep{}, fmt.Errorf("%w %q: no parameter is called %q; there are %s, each with or without %s", ErrSweep, text, plain,
			strings.Join(SweepParameters(), ", "), inLeases)
	}
	from, to, n, err := sizesOf(sizes, leases)
	if err != nil {
		return Sweep{}, fmt.Errorf("%w %q: %w", ErrSweep, text, err)
	}
	if least := from; all[i].positive && (least.Fixed < 0 || least.Leases < 0 || least == (faults.Span{})) {
		return Sweep{}, fmt.Errorf("%w %q: FROM must be more than 0", ErrSweep, text)
	}
	return Sweep{Parameter: name, Points: spread(from, to, n), swept: all[i]}, nil
}

// sizesOf reads FROM..TO and, after a slash, the number of points.
func sizesOf(text string, leases bool) (from, to faults.Span, n int, err error) {
	n = DefaultPoints
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

// spread returns n sizes from the first to the last, rounded to what a reader would write.
func spread(from, to faults.Span, n int) []faults.Span {
	out := make([]faults.Span, n)
	for i := range out {
		share := float64(i) / float64(n-1)
		leases := from.Leases + share*(to.Leases-from.Leases)
		out[i] = faults.Span{
			Leases: float64(int64(leases*1000+sign(leases)/2)) / 1000,
			Fixed:  (from.Fixed + faults.Span{Leases: share}.Of(to.Fixed-from.Fixed)).Round(grain(to.Fixed - from.Fixed)),
		}
	}
	return out
}

// grain is what sizes of a range are rounded to, so that they can be read.
func grain(of time.Duration) time.Duration {
	if of < maxPoints*time.Millisecond {
		return time.Microsecond
	}
	return time.Millisecond
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

// At returns the scenario with every fault of the swept kind at a size. The error is ErrSweep when there is no such fault.
func (s Scenario) At(sweep Sweep, size faults.Span) (Scenario, error) {
	s.Faults = slices.Clone(s.Faults)
	found := false
	for i := range s.Faults {
		if s.Faults[i].Fault == sweep.swept.fault {
			sweep.swept.set(&s.Faults[i], size)
			found = true
		}
	}
	if !found {
		return s, fmt.Errorf("%w %s: scenario %s has no %s", ErrSweep, sweep.Parameter, s.Name, sweep.swept.fault)
	}
	return s, nil
}
