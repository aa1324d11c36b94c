// Package judge turns the record of a run into its result: the verdict on each property (package
// checker), the causes of what broke (package explain), their stories (package story), and the one
// verdict of the run. It is the same for runs on servers and in the simulator, of which it knows
// nothing.
//
//	record → Check → verdict, findings → Doubt → results.NewResult, measured by the caller → Conclude → results.Result
//
// Nothing else makes a verdict of a run. Whatever shows it (terminal, result.json, pages, JUnit,
// ls, serve, exit code) reads [results.Result].
package judge

import (
	"context"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/story"
)

// Record is what a run left, in memory.
type Record struct {
	history.Recorded
	Windows []history.Window
	Store   map[string]checker.StoreEnds // what the guarded store held before and after
	// what the nodes executed and changed, each node's in its order; nil: not recorded
	Effects []history.Executed
}

// Check judges the properties of a record, and finds the causes and stories of its violations.
// Errors are of a record that contradicts itself, of miniredis, and of ctx; none is a verdict.
func Check(ctx context.Context, rec Record, opt checker.Options) (*checker.Verdict, explain.Findings, error) {
	opt.Store = rec.Store
	v, err := checker.Check(ctx, checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands, Faults: rec.Windows, Effects: rec.Effects}, opt)
	if err != nil {
		return v, explain.Findings{}, err
	}
	var x story.Explainer
	defer x.Close()
	found, err := x.Explain(ctx, v, explain.Record{Header: rec.Header, Ops: rec.Ops, Commands: rec.Commands, Scripts: rec.Scripts, Faults: rec.Windows, Effects: rec.Effects})
	return v, found, err
}

// Opportunities counts what was judged of each property that the lock promises.
func Opportunities(v *checker.Verdict) history.Reach {
	c := history.Reach{}
	for _, p := range v.Properties {
		if promised := p.Verdict != checker.NotApplicable || p.Note == ""; promised {
			c[string(p.Name)] = p.Judged
		}
	}
	return c
}

// Interrupted is the reason for doubt of a run that was ended early.
const Interrupted = "the run was interrupted before its end"

// Ending is what decides the verdict of a run beside those of its properties.
type Ending struct {
	Doubts      []string // why the record says little about the lock; those that are empty count for nothing
	Interrupted bool     // somebody ended the run early
	Gates       []results.Gate
}

// Conclude makes the verdict of a run whose measurements are complete, and the results of its
// gates: a violation is a fail, else a gate that is broken; else doubt, or a gate without a value,
// makes it inconclusive. v becomes the verdict of what was recorded, however the run ended and
// whatever its limits.
func Conclude(r *results.Result, v *checker.Verdict, e Ending) {
	r.Verdict = v.Verdict
	for _, why := range e.Doubts {
		doubt(r, why)
	}
	v.Verdict = r.Verdict
	if e.Interrupted {
		doubt(r, Interrupted)
	}
	r.Gates = r.CheckGates(e.Gates)
	switch gates := results.GatesVerdict(r.Gates); {
	case gates == checker.Fail:
		r.Verdict = checker.Fail
	case gates == checker.Inconclusive && r.Verdict == checker.Pass:
		r.Verdict = checker.Inconclusive
	}
}

// doubt turns a pass into inconclusive because of why. The first reason is kept.
func doubt(r *results.Result, why string) {
	if why == "" {
		return
	}
	if r.Reason == "" {
		r.Reason = why
	}
	if r.Verdict == checker.Pass {
		r.Verdict = checker.Inconclusive
	}
}
