package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestMetamorphic changes random histories in ways that must not change the judgement, or may change it in one direction only.
func TestMetamorphic(t *testing.T) {
	for i, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			for n := range 500 {
				seed := uint64(i)<<40 + 1<<39 + uint64(n)
				ops := randomHistory(s, seed)
				want := s.sweepAndSearch(t.Context(), ops, true)
				for _, change := range metamorphoses() {
					got := s.sweepAndSearch(t.Context(), change.make(ops, rand.New(rand.NewPCG(seed, 2))), true)
					same := got.legal == want.legal && got.ordered == want.ordered
					if !same && !(change.mayHeal && !(want.legal && want.ordered)) && !(change.mayHeal && got.legal && got.ordered) {
						t.Fatalf("seed %d, %s: %+v becomes %+v\n%s", seed, change.name, want, got, draw(ops))
					}
				}
			}
		})
	}
}

// change is a way to change a history.
type change struct {
	name    string
	mayHeal bool // an illegal history may become legal, but not the reverse
	make    func(ops []history.Operation, r *rand.Rand) []history.Operation
}

func each(f func(op *history.Operation)) func([]history.Operation, *rand.Rand) []history.Operation {
	return func(ops []history.Operation, _ *rand.Rand) []history.Operation {
		out := append([]history.Operation(nil), ops...)
		for i := range out {
			f(&out[i])
		}
		return out
	}
}

func metamorphoses() []change {
	return []change{
		{name: "clients are renamed", make: each(func(op *history.Operation) { op.Client = string('z' - op.Client[0] + 'a') })},
		{name: "time is shifted", make: each(func(op *history.Operation) { op.Call, op.Return = op.Call-1_000_000_007, op.Return-1_000_000_007 })},
		{name: "time is stretched", make: each(func(op *history.Operation) { op.Call, op.Return = 7*op.Call, 7*op.Return })},
		{name: "ids are changed", make: each(func(op *history.Operation) { op.ID = ^op.ID })},
		{name: "the key is renamed", make: each(func(op *history.Operation) { op.Key = "another" })},
		{name: "lines are shuffled", make: func(ops []history.Operation, r *rand.Rand) []history.Operation {
			out := append([]history.Operation(nil), ops...)
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
			return out
		}},
		{name: "a legal life on another key is added", make: func(ops []history.Operation, _ *rand.Rand) []history.Operation {
			return append([]history.Operation{
				{ID: 100, Client: "a", Op: history.Acquire, Key: "apart", Call: 0, Return: 3, Outcome: history.OK},
				{ID: 101, Client: "a", Op: history.Release, Key: "apart", Call: 4, Return: 5, Outcome: history.OK},
			}, ops...)
		}},
		{name: "a hold before everything is added", make: func(ops []history.Operation, _ *rand.Rand) []history.Operation {
			return append([]history.Operation{
				{ID: 100, Client: "early", Op: history.Acquire, Key: "k", Call: -1000, Return: -990, Outcome: history.OK},
				{ID: 101, Client: "early", Op: history.Release, Key: "k", Call: -980, Return: -970, Outcome: history.OK},
			}, ops...)
		}},
		{name: "an interval is widened", mayHeal: true, make: widen},
	}
}

// widen moves the call of one operation earlier or its return later, within its client's own order.
func widen(ops []history.Operation, r *rand.Rand) []history.Operation {
	out := append([]history.Operation(nil), ops...)
	if len(out) == 0 {
		return out
	}
	op := &out[r.IntN(len(out))]
	call, ret := op.Call-1-r.Int64N(20), op.Return+1+r.Int64N(20)
	for _, other := range ops {
		if other.Client == op.Client && other.Call != op.Call {
			if other.Call < op.Call {
				call = max(call, other.Return+1)
			} else {
				ret = min(ret, other.Call-1)
			}
		}
	}
	op.Call, op.Return = min(op.Call, call), max(op.Return, ret)
	return out
}

// TestSplittingKeysChangesNothing judges two histories on two keys of one file as it judges each by itself.
func TestSplittingKeysChangesNothing(t *testing.T) {
	s := settings[0]
	for seed := range uint64(500) {
		one, two := randomHistory(s, seed), randomHistory(s, seed+1<<20)
		for i := range two {
			two[i].Key = "other"
		}
		both := violationsOf(t, t.Context(), s.head, append(append([]history.Operation(nil), one...), two...))
		if apart := violationsOf(t, t.Context(), s.head, one) + violationsOf(t, t.Context(), s.head, two); both != apart {
			t.Fatalf("seed %d: %d violations together, %d apart", seed, both, apart)
		}
	}
}

func violationsOf(t *testing.T, ctx context.Context, h history.Header, ops []history.Operation) (n int) {
	t.Helper()
	v, err := Check(ctx, Input{Header: h, Ops: history.NewSlice(ops)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return v.property(verdicts.MutualExclusion).Violations + v.property(verdicts.Refusal).Violations
}

// TestOrderOfLinesDecidesNothing: nor do ids decide, among operations of one client at one instant.
func TestOrderOfLinesDecidesNothing(t *testing.T) {
	for kind, text := range map[history.Kind]string{
		history.Reentrant: `
			c1 acquire 10 10 ok token=t1
			c1 acquire 15 15 ok
			c1 extend 25 25 ok
			c1 release 30 30 ok token=t2
			c1 release 30 30 ok
			c3 acquire 40 40 ok`,
		history.Semaphore: `
			c2 acquire 0 0 ok token=t1
			c2 release 0 0 ok
			c2 acquire 0 0 ok
			c2 release 0 0 ok token=t2
			c1 acquire 0 0 ok`,
	} {
		ops, found := parse(t, text), map[string]bool{}
		for range 200 {
			rand.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
			for i := range ops {
				ops[i].ID = uint64(i) + 1
			}
			v := verdictOf(t, Input{Header: history.Header{Kind: kind, Lease: 20 * msec, Permits: 1}}, slices.Clone(ops), Options{})
			found[fmt.Sprint(v.Verdict, failing(v))] = true
		}
		if len(found) != 1 {
			t.Errorf("%v: %v", kind, found)
		}
	}
}

// TestPlainReentry: a re-entry may repeat the fence of its hold, also where the lease may have ended before it, or the release come.
func TestPlainReentry(t *testing.T) {
	for _, text := range []string{`
		c1 acquire 0 1 ok fence=22
		c1 acquire 1.5 5.5 ok fence=22`, `
		c1 acquire 0 1 ok fence=22
		c1 release 2 3 unknown
		c1 acquire 3.5 4 ok fence=22`} {
		v := verdictOf(t, Input{Header: history.Header{Kind: history.Reentrant, Lease: 5 * msec}}, parse(t, text), Options{Plain: true})
		if got := failing(v); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
}
