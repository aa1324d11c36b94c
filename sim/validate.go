package sim

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// validate returns the first value of a tape that is unknown or impossible. A tape without a
// property would be reproduced by nothing, and seem to pass. What depends on the lock, which the
// reader may not have, is checked before the tape runs.
func (t Tape) validate() error {
	p := t.Program
	for _, err := range []error{
		word("property", t.Property, verdicts.Properties()), word("cause", t.Cause, verdicts.Causes()),
		word("workload", p.Load, append(workloads.Names(), "")),
		word("topology", p.Topology, append(impls.Topologies(), "")),
		word("persistence", p.Persistence, append(impls.Persistences(), "")),
		t.validateNumbers(),
	} {
		if err != nil {
			return err
		}
	}
	// the faults of the program as those of a scenario, and what the bounds and the schedule name
	var wrong error
	in := p.setting()
	for i, f := range p.Faults {
		f.Validate(in, func(path, format string, args ...any) {
			if wrong == nil {
				wrong = fmt.Errorf("%s: %s", strings.TrimSuffix(fmt.Sprintf("faults.%d.%s", i, path), "."), fmt.Sprintf(format, args...))
			}
		})
	}
	if wrong != nil {
		return wrong
	}
	for _, name := range t.Bounds.Faults {
		if _, ok := faults.FindKind(name); !ok {
			return fmt.Errorf("bounds.faults: %s", foreign.Unknown("fault", name, Placeable()))
		}
	}
	for i, s := range t.Schedule {
		if s.Kind != faults.StepBegin {
			continue
		}
		if err := inRange(fmt.Sprintf("schedule.%d.fault", i), s.Fault, in); err != nil {
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
	text := foreign.Unknown(field, word, slices.DeleteFunc(slices.Clone(known), func(k S) bool { return k == "" }))
	if word == "" {
		text = "the " + field + " " + text // is missing
	}
	return errors.New(text)
}

// Limits of a tape, so that one from elsewhere does not fill the memory and its times can be added.
const (
	maxCount = 100_000
	maxTime  = int64(365 * 24 * time.Hour)
)

func (t Tape) validateNumbers() error {
	p, b := t.Program, t.Bounds
	for _, n := range []struct {
		field string
		value int64
		most  int64
	}{
		{"clients", int64(p.Clients), MaxClients}, {"nodes", int64(p.Nodes), faults.MaxNodes}, {"permits", int64(p.Permits), maxCount}, {"poll", int64(p.Poll), maxTime},
		{"timeout", int64(p.Timeout), maxTime}, {"length", int64(p.Length), maxTime}, {"enough", int64(p.Enough), 1e9}, {"horizon", int64(p.Horizon), maxTime},
		{"config.Ops", int64(p.Config.Ops), maxCount}, {"config.Lease", int64(p.Config.Lease), maxTime}, {"config.Think", int64(p.Config.Think), maxTime},
		{"config.Slow", int64(p.Config.Slow), maxTime}, {"config.Pause", int64(p.Config.Pause), maxTime}, {"config.Keep", int64(p.Config.Keep), maxTime}, {"config.AcquireWait", int64(p.Config.AcquireWait), maxTime},
		{"config.Keys", int64(p.Config.Keys), maxCount}, {"config.Readers", int64(p.Config.Readers), MaxClients}, {"bounds.max_faults", int64(b.MaxFaults), maxCount}, {"bounds.max_waits", int64(b.MaxWaits), maxCount},
		{"bounds.max_delay", int64(b.MaxDelay), maxTime}, {"bounds.max_steps", int64(b.MaxSteps), maxCount},
	} {
		switch {
		case n.value < 0:
			return fmt.Errorf("%s %d: must not be negative", n.field, n.value)
		case n.value > n.most:
			return fmt.Errorf("%s %d: at most %d", n.field, n.value, n.most)
		}
	}
	if _, err := strconv.ParseUint(t.Hash, 16, 64); t.Hash != "" && err != nil {
		return fmt.Errorf("hash %q: want the hash of a trace, 1 to 16 hexadecimal digits", t.Hash)
	}
	return nil
}

// ReadTape reads a tape from JSON, of at most [foreign.MaxDocument] bytes. A word that is not known,
// and a value that cannot be, is an error.
func ReadTape(r io.Reader) (Tape, error) {
	var t Tape
	text, err := io.ReadAll(io.LimitReader(r, foreign.MaxDocument+1))
	if err == nil && len(text) > foreign.MaxDocument {
		err = fmt.Errorf("larger than %d bytes", foreign.MaxDocument)
	}
	if err == nil {
		err = foreign.Unmarshal(text, &t)
	}
	switch {
	case err != nil:
	case t.Schema == tapeSchema:
		err = t.validate()
	case t.Schema == tapeSchemaV1:
		err = fmt.Errorf("schema %q, want %q: %w", t.Schema, tapeSchema, errOldTape)
	default:
		err = fmt.Errorf("schema %q, want %q", t.Schema, tapeSchema)
	}
	if err != nil {
		return Tape{}, fmt.Errorf("tape: %w", err)
	}
	return t, nil
}

// tapeSchemaV1 names choices by their positions, which change when a client sends one more command.
const tapeSchemaV1 = "lockbench/tape/v1"

// errOldTape is returned for a tape of the first version, which is no longer supported.
var errOldTape = errors.New("its choices are positions, which are not followed any more; explore the lock again")
