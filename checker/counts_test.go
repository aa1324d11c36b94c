package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestALostUpdateByAStaleWriteIsOneViolation: it is one opportunity.
func TestALostUpdateByAStaleWriteIsOneViolation(t *testing.T) {
	ops := `
		b acquire 0 1 ok
		a acquire 210 211 ok
		a write 212 213 ok read=1 wrote=2
		b write 215 216 ok read=0 wrote=1`
	v := row{head: leased, ops: ops}.check(t)
	if p := v.property(verdicts.StoreIntegrity); p.Violations != 1 || p.Judged != 2 || v.Damage.LostUpdates != 1 || v.Damage.StaleWrites != 1 {
		t.Errorf("%+v, %+v", p, v.Damage)
	}
}

// TestOfTwoWritesAtOnceOneIsStale: b has read what a wrote, so a's write came first and its fence is the higher one. No update was lost.
func TestOfTwoWritesAtOnceOneIsStale(t *testing.T) {
	v := row{head: forever, ops: `
		a write 0 9 ok fence=2 read=0 wrote=1
		b write 1 8 ok fence=1 read=1 wrote=2`}.check(t)
	if p := v.property(verdicts.StoreIntegrity); v.Damage.LostUpdates != 0 || v.Damage.StaleWrites != 1 || len(p.First.Clients) != 2 || p.First.Clients[1] != "b" {
		t.Errorf("%+v, %+v", p.First, v.Damage)
	}
}

// TestAStaleWriteIsNotWithinTheClockError: only what the order of the writes shows may be.
func TestAStaleWriteIsNotWithinTheClockError(t *testing.T) {
	head := leased
	head.ClockError = 2 * msec
	v := row{head: head, ops: `
		b acquire 0 1 ok
		a acquire 210 211 ok
		a write 212 213 ok read=1 wrote=2
		c write 214 215 ok read=0 wrote=1
		b write 220 221 ok read=2 wrote=3`}.check(t)
	if p := v.property(verdicts.StoreIntegrity); p.Verdict != Fail || p.First == nil || p.First.Clients[1] != "b" {
		t.Errorf("%+v", p)
	}
}

// TestAWriteIsCountedOnce: b's writes are stale within the clock error only, and no order makes them a chain whatever the clocks.
func TestAWriteIsCountedOnce(t *testing.T) {
	v := row{head: history.Header{Kind: history.Reentrant, Lease: 5 * msec, ClockError: msec}, ops: `
		a write 2 4 ok fence=3 read=0 wrote=1
		b write 5 5 ok fence=2 read=0 wrote=1
		b write 5 5 ok fence=1 read=2 wrote=3`}.check(t)
	if p := v.property(verdicts.StoreIntegrity); p.Judged != 3 || len(p.NotJudged) > 0 {
		t.Errorf("%d judged, %v not", p.Judged, p.NotJudged)
	}
}

// TestOpportunities: a hold that an extend began begins when that returns, and is no re-entry; a crash is the first thing of its instant, whatever else
// is called then.
func TestOpportunities(t *testing.T) {
	for _, r := range []struct {
		row
		property verdicts.Property
		judged   int
	}{
		{row{name: "it meets another client's", head: reentrant, ops: `
			a acquire 0 1 ok
			b acquire 99 102 ok until=202
			b extend 103 107 lost
			b extend 103 108 ok until=203`}, verdicts.MutualExclusion, 2},
		{row{name: "a belief that began after its grant was over is met", head: leased, ops: `
			c acquire 0 101 ok asked=1 token=x
			c extend 105 105 ok token=x
			a acquire 206 206 ok`}, verdicts.MutualExclusion, 1},
		{row{name: "a belief that resumes is no grant", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
			a acquire 0 0 ok
			a release 1 2 ok
			b acquire 3 3 ok
			b extend 13.5 13.6 ok`}, verdicts.MutualExclusion, 1},
		{row{name: "a belief that resumes and conflicts is judged", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
			b acquire 3 3 ok
			a acquire 13.2 13.3 ok
			b extend 13.5 13.6 ok`}, verdicts.MutualExclusion, 2},
		{row{name: "one long acquire is one permit", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}, ops: `
			b acquire 50 60 unknown
			c acquire 75 205 ok
			a acquire 200 209 busy`}, verdicts.Refusal, 0},
		{row{name: "an extend of unknown outcome does not bring back what had ended", head: history.Header{Kind: history.Mutex, Lease: 2 * msec}, ops: `
			a acquire 1 2 ok
			b acquire 5.2 5.3 unknown
			b acquire 6 6.1 busy
			a extend 12 13 unknown`}, verdicts.Refusal, 0},
		{row{name: "a grant that was asked for after the refusal", head: history.Header{Kind: history.Mutex, Lease: 5 * msec}, ops: `
			b acquire 8 9 unknown
			a acquire 10 20 busy
			c acquire 15 45 ok asked=40`}, verdicts.Refusal, 0},
		{row{name: "an acquire before it is no re-entry", head: reentrant, ops: `
			a acquire 0 1 ok
			a extend 106 109 lost
			a extend 109 114 ok
			a acquire 110 110 ok`}, verdicts.Progress, 2},
		{row{name: "an entry under way when an extend begins a hold does not lengthen that", head: history.Header{Kind: history.Reentrant, Lease: 20 * msec}, ops: `
			a acquire 0 1 ok
			b acquire 19 24 ok
			a extend 20 24 lost
			a acquire 47 51 ok asked=47 until=71
			a extend 50 50 ok`}, verdicts.MutualExclusion, 3},
		{row{name: "an extend at the instant of the call renews what the acquire then enters again", head: history.Header{Kind: history.Reentrant, Lease: 3 * msec}, ops: `
			a acquire 1 1 ok token=t5
			a extend 4 4 ok token=t1
			a acquire 4 6 ok token=t1`}, verdicts.Reentrancy, 1},
		{row{name: "a write at the instant of a crash and a loss", head: leased, extra: crashOf("a", 3*msec), ops: `
			a acquire 3 3 ok token=x
			a write 3 3 ok read=1 wrote=2
			a lost 3 3 token=x`}, verdicts.Renewal, 1},
	} {
		t.Run(r.name, func(t *testing.T) {
			if p := r.check(t).property(r.property); p.Judged != r.judged {
				t.Errorf("%d judged, not judged %v; want %d", p.Judged, p.NotJudged, r.judged)
			}
		})
	}
}
