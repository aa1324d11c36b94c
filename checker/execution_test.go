package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// executionsOf returns the search of a history of one key.
func executionsOf(t *testing.T, in Input, ops []history.Operation) *executions {
	t.Helper()
	in.Header.Permits = max(in.Header.Permits, 1)
	in.Ops = history.NewSlice(ops)
	a, err := load(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.keys) == 0 {
		return &executions{}
	}
	ev := newEvidence(in, a)
	if err := a.findHolds(a.keys[0], ev); err != nil {
		t.Fatal(err)
	}
	parts := (&keyInput{a: a, k: a.keys[0], ev: ev, opt: Options{}.withDefaults()}).parts(true)
	if len(parts) == 0 {
		return &executions{}
	}
	return parts[0]
}

// TestExecutionsAgreeWithPorcupine compares the search of the abstract server, where no lease ends, with Porcupine on a textbook model.
func TestExecutionsAgreeWithPorcupine(t *testing.T) {
	n := uint64(2_000)
	if raceDetector {
		n = 200
	}
	for i, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			legal, unknown := 0, 0
			for seed := uint64(i)<<40 + 7<<32; seed < uint64(i)<<40+7<<32+n; seed++ {
				ops := randomHistory(s, seed)
				want := plainSearch(s.head, ops, clientNumbers)
				got, known := executionsOf(t, Input{Header: s.head}, ops).exist(allRules)
				if want {
					legal++
				}
				if !known {
					unknown++
				} else if got != want {
					t.Fatalf("seed %d: Porcupine says legal=%v, the executions %v\n%s", seed, want, got, draw(ops))
				}
			}
			t.Logf("%d legal of %d, %d not decided", legal, n, unknown)
		})
	}
}

// TestFailedAttemptsAloneAreNoSearch: where votes count, a record of failed attempts has nothing to search.
func TestFailedAttemptsAloneAreNoSearch(t *testing.T) {
	v := row{head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: "a acquire 0 1 fail\nb acquire 2 3 fail"}.check(t)
	if p := v.property(verdicts.Linearizability); p.Verdict != NotApplicable || p.Judged != 0 {
		t.Errorf("%+v", p)
	}
}
