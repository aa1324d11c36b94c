package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestWitnessShowsBothHolds: an overlap is shown by the two holds, the one that conflicts last.
func TestWitnessShowsBothHolds(t *testing.T) {
	v := verdictOf(t, Input{Header: forever}, parse(t, `
		a acquire 0 1 ok
		b acquire 0 2 ok
		a release 3 5 ok
		b release 6 7 ok`), Options{})
	w := v.Violations[0].Witness
	if len(w.Holds) != 2 || w.Holds[0].Client != "a" || w.Holds[1].Client != "b" || w.Holds[0].Belief[0] != (Span{1 * msec, 3 * msec}) {
		t.Errorf("%+v", w)
	}
	v.Violations[0].Cause = verdicts.DoubleGrant
	v.CountCauses()
	if p := v.property(verdicts.MutualExclusion); p.Causes[verdicts.DoubleGrant] != 1 || p.First == nil || p.First.Cause != verdicts.DoubleGrant {
		t.Errorf("%+v", p)
	}
}

// TestHoldsOfOperations: what a picture draws is what the pass over the record finds: a gap where an extend came late, a release that names its token
// after the lease, two holds of one client.
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

// TestTheReleaseToBlameExplainsTheGrantToo: either release of the others can have ended b's hold before b's answer, but only a's, which was under way
// for long, came before the grant to c. c's release may even be called after b's.
func TestTheReleaseToBlameExplainsTheGrantToo(t *testing.T) {
	head := history.Header{Kind: history.Mutex, Lease: 300 * msec}
	v := verdictOf(t, Input{Header: head}, parse(t, `
		a acquire 0 1 ok token=a
		a release 35 336 ok token=a
		b acquire 304 320 ok asked=305 until=605 token=b
		c acquire 330 340 ok token=c
		b release 401 403 not_held token=b
		c release 402 404 ok token=c`), Options{})
	i := slices.IndexFunc(v.Violations, func(v Violation) bool { return v.Property == verdicts.ReleaseSafety })
	if i < 0 {
		t.Fatalf("no release is blamed: %+v", v.Properties)
	}
	if got := v.Violations[i]; got.At != 35*msec || !slices.Equal(got.Clients, []string{"b", "a"}) {
		t.Errorf("blamed at %d, clients %v, want a's release at 35 ms and b's hold", got.At, got.Clients)
	}
}

// TestALateWriteIsShown: where the store does not end as the last write left it, the violation also shows the write of unknown outcome that can have come
// after, so that its hold can be explained.
func TestALateWriteIsShown(t *testing.T) {
	for _, c := range []struct{ ops, want string }{
		{"a write 0 1 ok read=0 wrote=1\n c write 2 3 unknown read=0 wrote=1\n b write 4 5 ok read=1 wrote=2", "b c"}, // c's can have come last
		{"a write 0 1 ok read=0 wrote=1\n c write 2 3 unknown read=0 wrote=7\n b write 4 5 ok read=1 wrote=2", "b"},   // c's wrote another value
		{"a write 0 1 ok read=0 wrote=1\n b write 4 5 ok read=1 wrote=2", "b"},                                        // nothing shows what did
	} {
		v := verdictOf(t, Input{Header: forever}, parse(t, c.ops), Options{Store: map[string]StoreEnds{"k": {Final: new(int64(1))}}})
		if len(v.Violations) != 1 {
			t.Fatalf("%d violations of %q", len(v.Violations), c.ops)
		}
		x := v.Violations[0]
		if got := strings.Join(x.Clients, " "); got != c.want || len(x.Witness.All()) != len(x.Clients) {
			t.Errorf("%q: clients %s with %d operations, want %s", c.ops, got, len(x.Witness.All()), c.want)
		}
	}
}
