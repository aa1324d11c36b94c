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
	all := make([]judgements, len(a.keys))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(a.keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(a.keys)); i = next.Add(1) - 1 {
				all[i] = a.judgeKey(ctx, a.keys[i], ev, opt)
			}
		})
	}
	workers.Wait()
	tallies, damage, err := join(all, opt)
	if err != nil {
		return nil, err
	}
	return a.verdict(tallies, damage, ev, opt), nil
}

// judgements is the result for one key.
type judgements struct {
	tallies []tally
	damage  *Damage // nil: no value of the store is known
	err     error
}

func (a *archive) judgeKey(ctx context.Context, k *keyLog, ev *evidence, opt Options) (f judgements) {
	if f.err = ctx.Err(); f.err != nil {
		return f
	}
	if f.err = a.findHolds(k, ev); f.err != nil {
		return f
	}
	d := &keyInput{a: a, k: k, ev: ev, opt: opt}
	store := newStoreIntegrity(d)
	judges := []judge{
		newMutualExclusion(d), newExclusiveUse(d), store, newReleaseSafety(d), newFencingOrder(d),
		newProgress(d), newRefusal(d), newReentrancy(d), newRenewal(d), newFairness(d), newLinearizability(d),
	}
	d.sweep(slices.DeleteFunc(slices.Clone(judges), func(j judge) bool { return !j.result().applies }))
	for _, j := range judges {
		f.tallies = append(f.tallies, *j.result())
	}
	f.damage = store.damage()
	return f
}

// join adds up the judgements of all keys.
func join(all []judgements, opt Options) ([]tally, *Damage, error) {
	var total []tally
	var damage *Damage
	for _, f := range all {
		if f.err != nil {
			return nil, nil, f.err
		}
		if total == nil {
			total = make([]tally, len(f.tallies))
		}
		for i := range f.tallies {
			total[i].join(&f.tallies[i], opt.MaxViolations)
		}
		switch {
		case damage == nil:
			damage = f.damage
		case f.damage != nil:
			damage.add(*f.damage)
		}
	}
	return total, damage, nil
}
