package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// validate returns the first value of a tape that is unknown or impossible. A tape without a property would be reproduced by nothing, and seem to
// pass. What depends on the lock, which the reader may not have, is checked before the tape runs.
func (t Tape) validate() error {
	p := t.Program
	for _, err := range []error{
		word("property", t.Property, verdicts.Properties()), word("cause", t.Cause, verdicts.Causes()),
		word("workload", p.Load, append(workloads.Names(), "")),
		word("topology", p.Topology, append(impls.Topologies(), "")),
		word("persistence", p.Persistence, append(impls.Persistences(), "")),
		t.validateNumbers(), t.validateFaults(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// word checks a word of a tape; "" may be absent if it is known.
func word[S ~string](field string, word S, known []S) error {
	if slices.Contains(known, word) {
		return nil
	}
	var words []string
	for _, k := range known {
		if k != "" {
			words = append(words, string(k))
		}
	}
	text := suggest.Unknown(field, string(word), words)
	if word == "" {
		text = "the " + field + " " + text // is missing
	}
	return errors.New(text)
}

func (t Tape) validateNumbers() error {
	p, b := t.Program, t.Bounds
	for _, n := range []struct {
		field string
		value int64
		most  int64 // 0: any
	}{
		{"clients", int64(p.Clients), maxClients}, {"nodes", int64(p.Nodes), faults.MaxNodes}, {"permits", int64(p.Permits), 0}, {"poll", int64(p.Poll), 0},
		{"timeout", int64(p.Timeout), 0}, {"length", int64(p.Length), 0}, {"enough", int64(p.Enough), 0}, {"horizon", int64(p.Horizon), 0},
		{"config.Ops", int64(p.Config.Ops), 0}, {"config.Lease", int64(p.Config.Lease), 0}, {"config.Think", int64(p.Config.Think), 0},
		{"config.Slow", int64(p.Config.Slow), 0}, {"config.Pause", int64(p.Config.Pause), 0}, {"config.AcquireWait", int64(p.Config.AcquireWait), 0},
		{"config.Keys", int64(p.Config.Keys), 0}, {"bounds.max_faults", int64(b.MaxFaults), 0}, {"bounds.max_waits", int64(b.MaxWaits), 0},
		{"bounds.max_delay", int64(b.MaxDelay), 0}, {"bounds.max_steps", int64(b.MaxSteps), 0},
	} {
		switch {
		case n.value < 0:
			return fmt.Errorf("%s %d: must not be negative", n.field, n.value)
		case n.most > 0 && n.value > n.most:
			return fmt.Errorf("%s %d: at most %d", n.field, n.value, n.most)
		}
	}
	if _, err := strconv.ParseUint(t.Hash, 16, 64); t.Hash != "" && err != nil {
		return fmt.Errorf("hash %q: want the hash of a trace, 1 to 16 hexadecimal digits", t.Hash)
	}
	return nil
}

// validateFaults checks the faults of the program as those of a scenario, and what the bounds and the schedule name.
func (t Tape) validateFaults() (err error) {
	in := t.Program.setting()
	for i, f := range t.Program.Faults {
		f.Validate(in, func(path, format string, args ...any) {
			if err == nil {
				err = fmt.Errorf("%s: %s", strings.TrimSuffix(fmt.Sprintf("faults.%d.%s", i, path), "."), fmt.Sprintf(format, args...))
			}
		})
	}
	for _, name := range t.Bounds.Faults {
		if _, ok := faults.FindKind(name); !ok && err == nil {
			err = fmt.Errorf("bounds.faults: %s", suggest.Unknown("fault", name, Placeable()))
		}
	}
	for i, s := range t.Schedule {
		if s.Kind == faults.StepBegin && err == nil {
			err = inRange(fmt.Sprintf("schedule.%d.fault", i), s.Fault, in)
		}
	}
	return err
}
