package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// holds are the acquires by which a violation's clients held, by call.
func (r *run) holds(v *checker.Violation) (out []*history.Operation) {
	add := func(op *history.Operation) {
		if op != nil && !slices.Contains(out, op) {
			out = append(out, op)
		}
	}
	for i := range v.Witness.Holds {
		add(r.ops[v.Witness.Holds[i].Acquire.ID])
	}
	for _, o := range v.Witness.All() {
		switch op := &o; {
		case op.Op == history.Acquire && op.Outcome == history.OK:
			add(r.ops[op.ID])
		case op.Op == history.Use || op.Op == history.Write:
			add(r.held(op.Client, op.Key, op.Call))
		}
	}
	slices.SortStableFunc(out, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	return out
}

// holding are those of a violation's holds that were there at its instant, by the release that ended each; all, where that leaves fewer than two.
func (r *run) holding(v *checker.Violation, end func(*history.Operation) *history.Operation) []*history.Operation {
	all := r.holds(v)
	out := slices.DeleteFunc(slices.Clone(all), func(op *history.Operation) bool {
		release := end(op)
		return op.Return > v.At || release != nil && release.Return < v.At
	})
	if len(out) < 2 {
		return all
	}
	return out
}

// beside are the wronged hold of a violation of release-safety and those that were granted while its client believed in it.
func (r *run) beside(v *checker.Violation) []*history.Operation {
	wronged := r.held(v.Clients[0], v.Key, v.At)
	if wronged == nil {
		return nil
	}
	end := r.until(wronged, v.At)
	if release := r.releaseOf(wronged); release != nil {
		end = min(end, release.Call)
	}
	holds := []*history.Operation{wronged}
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Key == v.Key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return > v.At && op.Return < end {
			holds = append(holds, op)
		}
	}
	return holds
}

// between adds to some holds those that anybody was granted from the first of them on until damage was seen.
func (r *run) between(holds []*history.Operation, v *checker.Violation) []*history.Operation {
	const most = 16
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Key == v.Key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return >= holds[0].Return && op.Return <= v.At &&
			!slices.Contains(holds, op) && len(holds) < most {
			holds = append(holds, op)
		}
	}
	slices.SortStableFunc(holds, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	return holds
}

// nearest returns holds in the order in which they are asked how they could meet a later one: the last first; of permits, that which had ended first
// by what its client had been told, for the others may rightly have been there.
func (r *run) nearest(holds []*history.Operation, seen int64) []*history.Operation {
	holds = slices.Clone(holds)
	slices.Reverse(holds)
	if r.Header.Kind == history.Semaphore {
		slices.SortStableFunc(holds, func(a, b *history.Operation) int { return cmp.Compare(r.until(a, seen), r.until(b, seen)) })
	}
	return holds
}

// held is the acquire by which a client held last at an instant; nil: none.
func (r *run) held(client, key string, at int64) (last *history.Operation) {
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Client == client && op.Key == key && op.Op == history.Acquire && op.Outcome == history.OK && op.Return <= at &&
			(last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last
}

// heldBefore is the acquire of the innermost hold that a client had when it called an operation; nil: none.
func (r *run) heldBefore(op *history.Operation) *history.Operation {
	var open []*history.Operation
	for i := range r.Ops {
		switch o := &r.Ops[i]; {
		case o.ID == op.ID || o.Client != op.Client || o.Key != op.Key || o.Return > op.Call:
		case o.Op == history.Acquire && o.Outcome == history.OK:
			open = append(open, o)
		case o.Op == history.Release && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[len(open)-1]
}

// grantedAt is when an acquire was granted, as far as that is known.
func (r *run) grantedAt(op *history.Operation) int64 {
	for _, a := range r.attempts(op) {
		if a.grant >= 0 {
			return a.time()
		}
	}
	return op.Return
}

// releasedAt is when the release of a hold took effect; the end of time when none did.
func (r *run) releasedAt(acquire *history.Operation) int64 {
	release := r.endOf(acquire)
	if release == nil {
		return math.MaxInt64
	}
	for _, n := range r.nodes {
		for _, i := range n.byOp[release.ID] {
			if len(n.events[i].changes) > 0 {
				return n.events[i].at
			}
		}
	}
	if release.Outcome == history.OK {
		return release.Return
	}
	return math.MaxInt64
}

// releaseOf is the first release that a client called after an acquire returned, and before it acquired again; of a re-entrant lock it may be that
// of an inner hold. nil: none.
func (r *run) releaseOf(acquire *history.Operation) *history.Operation {
	return r.released(acquire, false)
}

// endOf is the release that ends a hold: of a re-entrant lock the one that is not of an inner hold. nil: none.
func (r *run) endOf(acquire *history.Operation) *history.Operation { return r.released(acquire, true) }

// released finds the first release after an acquire, and of a re-entrant lock with outer the first that inner acquires do not account for.
func (r *run) released(acquire *history.Operation, outer bool) *history.Operation {
	var after []*history.Operation
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Client == acquire.Client && op.Key == acquire.Key && op.Call >= acquire.Return && op.ID != acquire.ID {
			after = append(after, op)
		}
	}
	slices.SortStableFunc(after, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	inner := 0
	for _, op := range after {
		switch {
		case op.Op == history.Release && inner == 0:
			return op
		case op.Op == history.Release:
			inner--
		case op.Op == history.Acquire && r.Header.Kind != history.Reentrant:
			return nil
		case op.Op == history.Acquire && op.Outcome == history.OK && outer:
			inner++
		}
	}
	return nil
}
