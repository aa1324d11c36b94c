package search

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// Breaks runs a tape and reports whether its violation still occurs, with the story, even if the
// run has diverged because the lock was changed.
func Breaks(ctx context.Context, r sim.Runner, t sim.Tape) (bool, []string, error) {
	all, err := replayed(ctx, r, t)
	b, ok := withKey(all, t.Key())
	return ok, b.Story, err
}

// BreaksElse runs a tape and returns the first violation besides the tape's for which the lock is
// to blame, with its story; zero if there is none.
func BreaksElse(ctx context.Context, r sim.Runner, t sim.Tape) (verdicts.Break, []string, error) {
	all, err := replayed(ctx, r, t)
	i := slices.IndexFunc(all, func(b broken) bool { return b.key() != t.Key() && !b.Excepted })
	if i < 0 {
		return verdicts.Break{}, nil, err
	}
	return verdicts.Break{Property: all[i].Property, Cause: all[i].Cause}, all[i].Story, err
}

// replayed runs a tape and returns its violations, with their stories.
func replayed(ctx context.Context, r sim.Runner, t sim.Tape) ([]broken, error) {
	out, err := r.Schedule(t.Program, t.Follow(), t.Bounds, false)
	if err != nil {
		return nil, err
	}
	var x explainer
	defer x.Close()
	all, _, err := x.judge(ctx, out, true)
	return all, err
}

// Unshown returns the story of a violation of a tape's property that the operations of a record by
// a lock do not show; nil: none. Errors are miniredis'.
func Unshown(t sim.Tape, v impls.Variant, rec history.Recorded, windows []history.Window) ([]string, error) {
	p := t.Program
	p.Variant = v
	var x explainer
	defer x.Close()
	all, err := x.livenessFindings(sim.Outcome{Recorded: rec, Windows: windows, Program: p})
	for _, b := range all {
		if b.Property == t.Property {
			return b.Story, err
		}
	}
	return nil, err
}
