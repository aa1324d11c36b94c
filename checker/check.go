package checker

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Check judges a history. An error means that the record breaks an assumption in a line
// (*history.SyntaxError) or as a whole, or comes from the context; it is never a verdict.
//
// It reads the source once and then works on a compact copy in memory. It takes O(n log n) time at
// worst, and O(n) if the file is nearly in order, whether or not the history is legal. Keys are
// judged concurrently.
func Check(ctx context.Context, in Input, opt Options) (*Verdict, error) {
	if in.Header.Permits == 0 {
		in.Header.Permits = 1
	}
	if opt.MaxViolations == 0 {
		opt.MaxViolations = 20
	}
	a, err := load(ctx, in)
	if err != nil {
		return nil, err
	}
	ev := newEvidence(in)
	all, errs := make([][]tally, len(a.keys)), make([]error, len(a.keys))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(a.keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(a.keys)); i = next.Add(1) - 1 {
				all[i], errs[i] = a.judgeKey(ctx, a.keys[i], ev, opt)
			}
		})
	}
	workers.Wait()
	var total []tally
	for i, tallies := range all {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if total == nil {
			total = make([]tally, len(tallies))
		}
		for j := range tallies {
			total[j].join(&tallies[j], opt.MaxViolations)
		}
	}
	return a.verdict(total, ev, opt), nil
}

func (a *archive) judgeKey(ctx context.Context, k *keyLog, ev *evidence, opt Options) (tallies []tally, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := a.findHolds(k, ev); err != nil {
		return nil, err
	}
	d := &keyInput{a: a, k: k, ev: ev, opt: opt}
	judges := []judge{
		newMutualExclusion(d), newExclusiveUse(d), newStoreIntegrity(d), newReleaseSafety(d), newFencingOrder(d),
		newProgress(d), newRefusal(d), newReentrancy(d), newRenewal(d), newFairness(d), newLinearizability(d),
	}
	d.sweep(slices.DeleteFunc(slices.Clone(judges), func(j judge) bool { return !j.result().applies }))
	for _, j := range judges {
		tallies = append(tallies, *j.result())
	}
	return tallies, nil
}
