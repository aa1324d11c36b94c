package checker

import (
	"fmt"
	"math"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestHundredThousandClients judges a history in which every hold is another client's, on one key
// and on as many.
func TestHundredThousandClients(t *testing.T) {
	const n = 100_000
	for _, keys := range []int{1, 1000} {
		var ops []history.Operation
		for i := range int64(n) {
			client, key := fmt.Sprint("client-", i), fmt.Sprint("key-", i%int64(keys))
			ops = append(ops,
				history.Operation{ID: 1, Client: client, Op: history.Acquire, Key: key, Call: 10 * i, Return: 10*i + 1, Outcome: history.OK, Token: client},
				history.Operation{ID: 1, Client: client, Op: history.Release, Key: key, Call: 10*i + 8, Return: 10*i + 9, Outcome: history.OK, Token: client})
		}
		v := verdictOf(t, Input{Header: history.Header{Kind: history.Mutex, Lease: 1000}}, ops, Options{})
		if p := v.property(verdicts.MutualExclusion); v.Verdict != Pass || p.Judged != n-keys {
			t.Errorf("%d keys: %s, %d hand-overs", keys, v.Verdict, p.Judged)
		}
	}
}

// TestIDsAreForPeople gives every operation the same id: the judgement is the same, and stories
// print the ids of the file.
func TestIDsAreForPeople(t *testing.T) {
	ops := parse(t, "a acquire 1 2 ok\nb acquire 3 4 ok")
	for i := range ops {
		ops[i].ID = 1<<63 + 7
	}
	p := verdictOf(t, Input{Header: forever}, ops, Options{}).property(verdicts.MutualExclusion)
	if p.Violations != 1 || p.First.Witness.All()[0].ID != 1<<63+7 || p.First.At != 4*msec {
		t.Errorf("%+v", p)
	}
}

// TestLongOperations: what takes longer than a record has room for is kept whole.
func TestLongOperations(t *testing.T) {
	ops := parse(t, "a acquire 0 60000 ok\na release 70000 71000 ok")
	ops[1].Return = math.MaxInt64
	v := verdictOf(t, Input{Header: forever}, append(ops, parse(t, "b acquire 80000 90000 ok")...), Options{})
	if h := v.Violations; len(h) > 0 {
		t.Errorf("%+v", h)
	}
	holds, err := Holds(forever, ops, nil)
	if err != nil || holds[0].Acquire.Return != 60_000*msec || holds[0].Release.Return != math.MaxInt64 {
		t.Errorf("%+v, %v", holds, err)
	}
}

// TestInstantsOfVirtualTime puts all operations of two clients into one instant.
func TestInstantsOfVirtualTime(t *testing.T) {
	v := verdictOf(t, Input{Header: leased}, parse(t, `
		a acquire 5 5 ok
		a release 5 5 ok
		b acquire 5 5 ok
		b release 5 5 ok
		a acquire 5 5 busy
		a acquire 5 5 ok`), Options{})
	if got := broken(v); got != "" {
		t.Error(got)
	}
}

// TestHoldsOfOperations: what a picture draws is what the pass finds: a gap where an extend came
// late, a release that names its token after the lease, two holds of one client.
func TestHoldsOfOperations(t *testing.T) {
	ops := parse(t, `
		a acquire 0 1 ok token=x until=300
		a extend 400 401 ok token=x until=700
		a use 2 500
		b acquire 310 311 ok token=y until=610
		a release 500 501 ok token=x
		b lost 320 320
		a acquire 600 601 ok token=z until=900`)
	holds, err := Holds(leased, ops, nil)
	if err != nil || len(holds) != 3 {
		t.Fatalf("%d holds, %v", len(holds), err)
	}
	x, y, z := holds[0], holds[1], holds[2]
	if len(x.Belief) != 2 || x.Belief[0] != (Span{1 * msec, 300 * msec}) || x.Belief[1] != (Span{401 * msec, 500 * msec}) {
		t.Errorf("belief %v, want a gap and an end at the release", x.Belief)
	}
	if x.Release == nil || len(x.Uses) != 1 || len(x.Extends) != 1 || y.Lost != 320*msec || y.End() != 320*msec || z.Token != "z" {
		t.Errorf("%+v", holds)
	}
}

// TestNumbered numbers more strings than the initial table and block hold, including an
// empty and a long one.
func TestNumbered(t *testing.T) {
	var d numbered
	words := []string{"", string(make([]byte, 2*nameBlock))}
	for i := range 50_000 {
		words = append(words, fmt.Sprint("token-", i))
	}
	for range 2 { // the second time, all are known
		for i, w := range words {
			if got := d.number(w); got != uint32(i)+1 {
				t.Fatalf("string %d has number %d", i, got)
			}
		}
	}
	d.table = nil
	for i, w := range words {
		if d.text(uint32(i)+1) != w {
			t.Fatalf("string %d is another", i+1)
		}
	}
}
