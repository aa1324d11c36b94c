package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestNoFalseAlarmInLongRecords: a record that is too long to be searched exactly, because of a client that holds nothing, breaks nothing that it does
// not break without that client. The sweep and the search near each operation may miss some of what the search of all finds, and no more than two of a hundred.
func TestNoFalseAlarmInLongRecords(t *testing.T) {
	judged, missed := 0, 0
	for _, r := range rows() {
		ops := parse(t, r.ops)
		if len(ops) == 0 || len(ops) > maxEffects || r.unordered {
			continue
		}
		in := r.extra
		in.Header = r.head
		v := verdictOf(t, in, Lengthened(slices.Clone(ops)), r.opt)
		judged++
		want := strings.Fields(r.want)
		for _, got := range strings.Fields(broken(v)) {
			if !slices.Contains(want, got) && !strings.Contains(r.want, got[:len(got)-1]) {
				t.Errorf("%s: %s in a long record, %q in a short one", r.name, got, r.want)
			}
		}
		if broken(v) != r.want {
			missed++
			t.Logf("%s: %q in a long record, %q in a short one", r.name, broken(v), r.want)
		}
		short := verdictOf(t, in, ops, r.opt)
		if p := v.property(verdicts.Linearizability); p.Verdict == Fail && short.property(verdicts.Linearizability).Verdict != Fail {
			t.Errorf("%s: no order in a long record", r.name)
		}
	}
	if missed > judged/50 {
		t.Errorf("%d of %d are judged otherwise in a long record", missed, judged)
	}
}

// TestExplainedNearby are lawful records, each of which the sweep or the windows take for a violation where it is long.
func TestExplainedNearby(t *testing.T) {
	rows := []struct {
		name string
		head history.Header
		ops  string
	}{
		// Lines don't tell which came first: the release.
		{"a release and an acquire at one instant", history.Header{Kind: history.Mutex, Lease: 5 * msec}, `
			a acquire 0 9 ok
			a release 9 9 ok
			a acquire 9 9 ok`},
		// The re-entry came first, and the release left one of two; or the release did, and the entry is a new one. Both refuse b.
		{"a re-entry and a release at one instant", history.Header{Kind: history.Reentrant, Lease: 5 * msec}, `
			a acquire 0 1 ok token=x
			a acquire 5 5 ok
			a release 5 5 ok token=x
			b acquire 6 6 busy`},
		// The first was granted late in its call. The entry renewed it, and the release left it.
		{"an entry after an acquire that took longer than the lease", history.Header{Kind: history.Reentrant, Lease: 5 * msec}, `
			a acquire 0 9 ok
			a acquire 9 13 ok
			a release 13 15 ok
			b acquire 17 24 busy`},
		// The first was granted as it was called, and kept for a lease, whatever its client was told.
		{"an end that is told too late", history.Header{Kind: history.Mutex, Lease: 5 * msec}, `
			a acquire 0 5 ok until=10
			b acquire 8 10 ok
			b release 10 11 ok`},
		// c had asked by then, and was granted later: it was before b in the queue.
		{"a place of a waiter that was granted later", history.Header{Kind: history.Mutex, Lease: 100 * msec, FIFO: true}, `
			a acquire 0 1 ok token=x
			c acquire 5 20 ok token=y asked=15
			a release 10 11 ok token=x
			b acquire 12 13 busy`},
		// The release ended the first hold, and the extend the second.
		{"two permits without tokens", history.Header{Kind: history.Semaphore, Permits: 3, Lease: 5 * msec}, `
			a acquire 0 1 ok
			a acquire 4 6 ok
			a release 6 8 ok
			a extend 8 9 ok`},
		// The extend meant the first hold, which was granted at 0: it refuses beside the other two.
		{"an extend without a token of one of two holds", history.Header{Kind: history.Semaphore, Permits: 3, Lease: 1000 * msec}, `
			a acquire 0 650 ok
			c acquire 350 900 ok
			a acquire 750 1465 ok
			a extend 1465 1665 ok
			a acquire 1865 1915 busy`},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			v := verdictOf(t, Input{Header: r.head}, Lengthened(parse(t, r.ops)), Options{})
			if p := v.property(verdicts.Linearizability); broken(v) != "" || p.Verdict == Fail {
				t.Errorf("got %q, linearizability %s", broken(v), p.Verdict)
			}
		})
	}
}

// TestAnswerBesideManyUnknown: an answer that its own client's operations show to be wrong is found beside more acquires of unknown outcome than can be
// searched.
func TestAnswerBesideManyUnknown(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "u%d acquire %d %d unknown\n", i, i%40, i%40+1)
	}
	text.WriteString(`
		c acquire 46.2 47.6 ok token=x asked=47.6
		c extend 49.5627 49.5947 lost token=x`)
	v := verdictOf(t, Input{Header: history.Header{Kind: history.Mutex, Lease: 2 * msec, Drift: msec / 25}}, parse(t, text.String()), Options{})
	if p := v.property(verdicts.Linearizability); p.Verdict != Fail {
		t.Errorf("linearizability is %s, %v", p.Verdict, p.NotJudged)
	}
}
