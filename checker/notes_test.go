package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestNotesAreOfWhatWasJudged: why a property does not apply to one key is no note on it where it was judged on another; and a record of which nothing
// was judged is inconclusive.
func TestNotesAreOfWhatWasJudged(t *testing.T) {
	op := func(id uint64, client, key string, kind history.Op, outcome history.Outcome, at int64) history.Operation {
		return history.Operation{ID: id, Client: client, Key: key, Op: kind, Outcome: outcome, Call: at, Return: at + 1}
	}
	head := history.Header{Kind: history.Mutex, Lease: 100}
	refused := op(2, "b", "k", history.Acquire, history.Busy, 3)
	for _, ops := range [][]history.Operation{
		{op(1, "a", "k", history.Acquire, history.OK, 1), refused, op(3, "b", "other", history.Acquire, history.OK, 9)},
		{op(3, "b", "a", history.Acquire, history.OK, 1), op(1, "a", "k", history.Acquire, history.OK, 2), refused}, // the other key comes first
	} {
		v, err := Check(t.Context(), Input{Header: head, Ops: history.NewSlice(ops)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p := v.property(verdicts.Refusal); p.Verdict != Pass || p.Note != "" {
			t.Errorf("refusal: %s, %q", p.Verdict, p.Note)
		}
	}
	v, err := Check(t.Context(), Input{Header: head, Ops: history.NewSlice([]history.Operation{op(1, "a", "k", history.Release, history.Fail, 1)})}, Options{})
	if err != nil || v.Verdict != Inconclusive || len(v.Notes) != 1 {
		t.Errorf("%s %v, %v", v.Verdict, v.Notes, err)
	}
}
