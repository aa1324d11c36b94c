package checker_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// judgement is what must not change when a record changes in a way that does not matter.
type judgement struct {
	verdict            checker.Result
	violations, judged int
	unjudged           string
}

func judgementsOf(t *testing.T, h history.Header, ops []history.Operation, faults []history.Window) map[verdicts.Property]judgement {
	t.Helper()
	g := &pageGenerator{h: h, ops: ops, faults: faults}
	in, ops := g.inNanoseconds()
	in.Ops = history.NewSlice(ops)
	v, err := checker.Check(t.Context(), in, checker.Options{Bare: true})
	if err != nil {
		return nil
	}
	out := map[verdicts.Property]judgement{}
	for _, p := range v.Properties {
		out[p.Name] = judgement{p.Verdict, p.Violations, p.Judged, fmt.Sprint(p.NotJudged)}
	}
	return out
}

// TestWhatMustNotMatterChangesNoCount: the names of clients, the order of lines, a client without operations, a fault elsewhere, and an unconfirmed one.
func TestWhatMustNotMatterChangesNoCount(t *testing.T) {
	eachKind(t, 1_000, func(t *testing.T, kind history.Kind, seed uint64) {
		g := pageHistory(kind, seed)
		want := judgementsOf(t, g.h, g.ops, g.faults)
		if want == nil {
			return
		}
		shuffled := slices.Clone(g.ops)
		g.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		idle := append(slices.Clone(g.ops), history.Operation{ID: 999, Client: "idle", Key: "k", Op: history.Release, Outcome: history.Fail})
		elsewhere := append(slices.Clone(g.faults), history.Window{Fault: "pause-client", Client: "idle", Node: -1, Start: 1, Confirmed: true},
			history.Window{Fault: "slow-work", Client: "nobody", Node: -1, End: 1000, Confirmed: true})
		unconfirmed := append(slices.Clone(g.faults), history.Window{Fault: "kill-server", Start: 1, End: 50}, history.Window{Fault: "crash-client", Client: "a", Node: -1, Start: 2})
		for name, got := range map[string]map[verdicts.Property]judgement{
			"renamed":           judgementsOf(t, g.h, renamed(g.ops), renamedIn(g.faults)),
			"shuffled":          judgementsOf(t, g.h, shuffled, g.faults),
			"an idle client":    judgementsOf(t, g.h, idle, g.faults),
			"a fault elsewhere": judgementsOf(t, g.h, idle, elsewhere),
			"not confirmed":     judgementsOf(t, g.h, g.ops, unconfirmed),
		} {
			if !maps.Equal(got, want) {
				t.Errorf("seed %d, %s: %v, not %v\n%s", seed, name, got, want, g)
			}
		}
	})
}

// rename gives clients names in the opposite order.
func rename(client string) string {
	if len(client) != 1 {
		return client
	}
	return string('z' - client[0] + 'a')
}

func renamed(ops []history.Operation) []history.Operation {
	out := slices.Clone(ops)
	for i := range out {
		out[i].Client = rename(out[i].Client)
	}
	return out
}

func renamedIn(faults []history.Window) []history.Window {
	out := slices.Clone(faults)
	for i := range out {
		out[i].Client = rename(out[i].Client)
	}
	return out
}

// TestKeysAreJudgedApart: each of two keys is judged as it is alone, and the counts add up.
func TestKeysAreJudgedApart(t *testing.T) {
	eachKind(t, 500, func(t *testing.T, kind history.Kind, seed uint64) {
		g, o := pageHistory(kind, seed), pageHistory(kind, seed+1<<35)
		for i := range o.ops {
			if o.ops[i].Key = "j"; o.ops[i].Token != "" {
				o.ops[i].Token += "j"
			}
		}
		one, two := judgementsOf(t, g.h, g.ops, g.faults), judgementsOf(t, g.h, o.ops, g.faults)
		if one == nil || two == nil {
			return
		}
		for p, got := range judgementsOf(t, g.h, slices.Concat(g.ops, o.ops), g.faults) {
			fails := one[p].verdict == checker.Fail || two[p].verdict == checker.Fail
			if got.violations != one[p].violations+two[p].violations || got.judged != one[p].judged+two[p].judged || fails != (got.verdict == checker.Fail) {
				t.Errorf("seed %d: %s together %v, apart %v and %v\n%s%s", seed, p, got, one[p], two[p], g, o)
			}
		}
	})
}

// eachKind runs a test on n seeds of every kind of lock, and stops at the first that fails.
func eachKind(t *testing.T, n int, test func(t *testing.T, kind history.Kind, seed uint64)) {
	for k, kind := range []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			for i := range soak(n) {
				if test(t, kind, uint64(k)<<40+uint64(i)); t.Failed() {
					return
				}
			}
		})
	}
}
