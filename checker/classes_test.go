package checker

import (
	"fmt"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// leasedAs is a header with a lease of 100 ms.
func leasedAs(kind history.Kind) history.Header {
	return history.Header{Kind: kind, Lease: 100 * msec, Permits: 1}
}

// classRows are classes of records that were once judged wrongly: overlapping holds that passed, and legal histories that failed.
var classRows = []row{
	{name: "a late notice of an older token leaves the newer hold alone", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a release 2 3 unknown token=t1
		a acquire 10 11 ok token=t2
		a lost 20 20 token=t1
		b acquire 30 31 ok token=t3`, want: "mutual-exclusion×1"},
	{name: "a late release of an older token leaves the newer hold alone", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a acquire 110 111 ok token=t2
		a release 112 113 not_held token=t1
		b acquire 120 121 ok token=t3`, want: "mutual-exclusion×1"},
	{name: "an extend of an older token does not lengthen the newer hold", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a acquire 110 111 ok token=t2
		a extend 190 191 lost token=t1
		b acquire 215 216 ok token=t3`},
	{name: "three at once whose acquires waited longer than the lease", head: leased, ops: `
		a acquire 0 150 ok
		b acquire 0 151 ok
		c acquire 0 152 ok`, unordered: true},
	{name: "one unknown acquire does not excuse refusals spread over seconds", head: leased, ops: `
		a acquire 0 1 unknown
		b acquire 10 11 busy
		b acquire 5000 5001 busy
		b acquire 9000 9001 busy`, want: "progress×1 refusal×2"},
	{name: "one unknown acquire excuses refusals within a lease", head: leased, ops: `
		a acquire 0 1 unknown
		b acquire 5000 5001 busy
		b acquire 5090 5091 busy`},
	{name: "a window of client nobody excuses nobody", head: reentrant,
		extra: Input{Faults: []history.Window{{Fault: "slow-work", Client: "nobody", Node: -1, Start: 1, End: 900 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		a acquire 2 3 busy
		a release 4 5 ok`, want: "reentrancy×1"},
	{name: "an unconfirmed crash ends nothing", head: leased,
		extra: Input{Faults: []history.Window{{Fault: faultCrashClient, Client: "a", Node: -1, Start: 5 * msec}}}, ops: `
		a acquire 0 1 ok
		b acquire 20 21 ok`, want: "mutual-exclusion×1"},
	{name: "a confirmed crash ends the belief", head: leased, extra: crashOf("a", 5*msec), ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok`},
	{name: "one lapse does not exempt a client for ever", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 200 201 ok
		a acquire 202 203 ok
		a acquire 204 205 busy
		a release 206 207 ok`, want: "reentrancy×1"},
	{name: "a lease of 5 ms", head: history.Header{Kind: history.Mutex, Lease: 5 * msec}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 50 51 busy`, want: "refusal×1"},
	{name: "one holder that extended late is one permit", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}, ops: `
		a acquire 0 1 ok
		a extend 150 151 ok
		b acquire 160 161 busy`, want: "release-safety×1 refusal×1"},
	{name: "two late extends before an honest refusal", head: leased, ops: `
		a acquire 0 1 ok
		a extend 50 51 ok
		a extend 120 121 ok
		b acquire 200 201 busy`},
	{name: "a re-entry that was answered late keeps its fence", head: reentrant, ops: `
		a acquire 0 1 ok fence=1
		a acquire 2 180 ok fence=1
		b acquire 110 150 ok fence=2
		b release 151 152 ok`},
	{name: "three overlapping writes with a lawful order", head: forever, ops: `
		a write 0 10 ok read=0 wrote=1
		b write 1 9 ok read=2 wrote=3
		c write 2 8 ok read=1 wrote=2`},
	{name: "refusals within the clock error", head: history.Header{Kind: history.Mutex, ClockError: 5 * msec}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 6 7 busy`},
	// The extend may have made the hold again: which of the two was wrong is not asked of the refusal.
	{name: "a refusal after a late extend", head: leased, ops: `
		b acquire 50 50 ok token=t
		b extend 200 200 ok token=t
		a acquire 275 285 busy`, want: "release-safety×1"},
	// Each could be to blame; that the hold was lost within its lease breaks renewal, and then the extend need not be wrong.
	{name: "an extend that may have come late, and then a loss", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
		a acquire 2 3 ok token=t
		a extend 11 16 ok token=t
		a extend 16.2 16.9 lost token=t`, want: "renewal×1", unordered: true},
	// a renewed its hold, so that b's, which began later, ended first.
	{name: "leases that end in another order than they began", head: leasedAs(history.RW), ops: `
		a acquire 0 1 ok shared token=t1
		b acquire 5 6 ok shared token=t2
		a extend 90 91 ok token=t1
		b release 250 251 ok token=t2`},
	// It had no hold, and c's grant shows that a's was ended.
	{name: "a release of no hold that ends another's", head: forever, ops: `
		a acquire 0 1 ok token=t1
		b release 10 11 ok token=t9
		c acquire 20 21 ok token=t2`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "a release of no hold that an acquire of unknown outcome may have given", head: forever, ops: `
		b acquire 0 1 unknown
		b release 10 11 ok
		a acquire 20 21 ok`},
	// The first to return begins one hold, the other renews it: one token is one permit.
	{name: "two extends under way at a loss", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a lost 10 10 token=t1
		a extend 8 30 ok token=t1
		a extend 9 20 ok token=t1`, want: "renewal×1"},
	{name: "an extend under way at a loss is refused after another has begun a new hold", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a lost 5 5 token=t1
		a extend 4 10 ok token=t1
		a extend 6 20 lost token=t1
		b acquire 30 31 ok token=t2
		b write 32 33 ok read=0 wrote=1
		a write 40 41 ok read=1 wrote=2`, want: "store-integrity×1 renewal×2"},
	{name: "an extend of unknown outcome may renew the hold that another began after a loss", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a extend 2 3 unknown token=t1
		a lost 5 5 token=t1
		a extend 4 10 ok token=t1
		b acquire 120 121 ok token=t2
		b write 122 123 ok read=0 wrote=1
		a write 130 131 ok read=1 wrote=2`, want: "renewal×1"},
	// The first refusal can mean the hold whose lease has ended. It closes that, so the second means the hold that is in force.
	{name: "two refused releases and one hold that is gone", head: leased, ops: `
		a acquire 0 1 ok
		a acquire 150 151 ok
		a release 160 161 not_held
		a release 162 163 not_held`, unordered: true},
	{name: "a lenient release and a refused one, and one hold that is gone", head: leased, ops: `
		a acquire 0 1 ok
		a acquire 150 151 ok
		a release 160 161 ok
		a release 162 163 not_held
		b acquire 164 165 busy`, want: "refusal×1", unordered: true},
	{name: "a refused release of a hold that is gone, and one of a hold that is there", head: leased, ops: `
		a acquire 0 1 ok
		a acquire 150 151 ok
		a release 160 161 not_held
		a release 162 163 ok
		b acquire 164 165 ok`},
	// The release ends the writer whose token it has, not the reader of unknown outcome.
	{name: "a release with the token of a grant, beside an acquire of unknown outcome", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 unknown shared
		a acquire 2 3 ok token=t1
		a release 4 5 ok token=t1
		b acquire 6 7 busy shared`, unordered: true}, // or the release ended another hold
	{name: "a client's next write has a lower fence", head: forever, ops: `
		a write 1 2 ok fence=3 read=0 wrote=1
		a write 2 3 ok fence=2 read=1 wrote=2`, want: "store-integrity×1"},
	// All may have been at one time, so there are very many orders.
	{name: "a reader refused by readers, with a clock error above the lease", head: history.Header{Kind: history.RW, Lease: 10 * msec, ClockError: 10 * msec}, ops: `
		z acquire 0 0.2 unknown shared
		z acquire 0.5 0.5 ok shared token=t1
		z acquire 1 1 busy
		b acquire 1.2 1.5 busy shared
		c acquire 1.2 1.5 busy
		b acquire 3.5 3.7 unknown shared
		a acquire 6.5 6.7 busy
		a acquire 7 7 busy`, want: "refusal×1"},
	// Only a re-entry of the hold that got a fence may get it again; b's hold of unknown outcome is not that.
	{name: "a re-entry with another client's fence", head: history.Header{Kind: history.Reentrant}, ops: `
		b acquire 0 1 unknown
		c acquire 2 3 ok fence=2
		b acquire 4 5 ok fence=2`, want: "mutual-exclusion×1 fencing-order×1"},
	// The second line was written first; at one instant either order is possible.
	{name: "two writes of a client at one instant, in any order of lines", head: forever, ops: `
		a write 4 4 ok read=1 wrote=2
		a write 4 4 ok read=0 wrote=1`},
	// A later acquire of b explains no earlier grant.
	{name: "an extend of no hold before an acquire of unknown outcome", head: leased, ops: `
		b extend 2 3 ok token=t0
		b acquire 9 10 unknown`, want: "release-safety×1 renewal×1"},
	// No other property reports that b was refused its own release: so no release of a's is to blame for it.
	{name: "a refused release that no property reports", head: history.Header{Kind: history.RW}, ops: `
		b acquire 0 1 ok shared token=t1
		b release 2 3 not_held token=t1
		a acquire 8 10 ok shared token=t3
		b release 8 13 not_held token=t1
		a release 12 14 ok token=t3`, unordered: true},
	// The lease may have ended when b learnt that.
	{name: "a release of no hold, and another's lease that was due", head: leased, ops: `
		b acquire 0 1 ok token=t1
		a release 5 6 ok token=t9
		b extend 99 100 lost token=t1`},
	// b's acquire of 0 may have been granted at any later time.
	{name: "an extend of what an acquire of unknown outcome may have given since another grant", head: leased, ops: `
		b acquire 0 1 unknown
		b acquire 10 11 ok token=t1
		b extend 300 301 ok token=t5`},
	// b waited while a held, and was granted the rest of the lease that it had requested at 0.
	{name: "a hold that lasts for less than a lease since its grant", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 0 60 ok until=100
		a release 58 59 ok
		c acquire 101 102 ok`, unordered: true},
	{name: "a lease that counts from the asking", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, LeaseFromAsking: true}, ops: `
		a acquire 0 1 ok
		b acquire 0 60 ok until=100
		a release 58 59 ok
		c acquire 101 102 ok`},
	{name: "a lease that counts from the asking and ends before what was told", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, LeaseFromAsking: true}, ops: `
		a acquire 0 1 ok
		b acquire 0 60 ok until=100
		a release 58 59 ok
		b lost 80 80
		c acquire 90 91 ok`, want: "renewal×1", unordered: true},
	// All at one instant: the successful release came before the one that found nothing.
	{name: "a client's operations at one instant have some order", head: forever, ops: `
		a acquire 4 4 ok
		a release 4 4 not_held
		a release 4 4 ok`},
	{name: "a release of no hold, at the instant of another's grant, that ends it", head: leased, ops: `
		b acquire 12 12 ok
		a release 12 12 ok
		b extend 17 17 lost`, want: "release-safety×1 renewal×1"},
	{name: "an owner refused within a belief that a late extend resumed", head: reentrant, ops: `
		a acquire 0 1 ok
		a extend 120 121 ok until=220
		a acquire 130 131 busy
		a release 140 141 ok`, want: "release-safety×1 reentrancy×1"},
	{name: "a re-entry is a grant to another", head: history.Header{Kind: history.Reentrant}, ops: `
		a acquire 0 1 ok token=ta
		b acquire 2 3 ok token=tb
		a acquire 4 5 ok token=ta
		b extend 6 7 ok token=tb`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "a refusal after a restart that may have lost the data", head: leased,
		extra: Input{Faults: []history.Window{{Fault: faultKillServer, Start: 2 * msec, End: 20 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		b acquire 30 31 ok
		c acquire 40 41 busy`, want: "mutual-exclusion×1"},
	{name: "a refusal after a clock was set back", head: leased, extra: Input{Faults: []history.Window{{Fault: faultJumpClock, Start: 2 * msec, End: 3 * msec, Confirmed: true,
		Effects: []history.Effect{{At: 3 * msec, What: history.ClockSet, By: -500 * msec}}}}}, ops: `
		a acquire 0 1 ok
		b acquire 300 301 busy`},
	{name: "a refusal after a clock was set back too little", head: leased, extra: Input{Faults: []history.Window{{Fault: faultJumpClock, Start: 2 * msec, End: 3 * msec, Confirmed: true,
		Effects: []history.Effect{{At: 3 * msec, What: history.ClockSet, By: -50 * msec}}}}}, ops: `
		a acquire 0 1 ok
		b acquire 300 301 busy`, want: "refusal×1"},
	{name: "a key was evicted within the clock error", head: history.Header{Kind: history.Mutex, Lease: 20 * msec, ClockError: 2 * msec},
		extra: Input{Faults: []history.Window{{Fault: faultEvictKeys, End: 2 * msec, Confirmed: true}}}, ops: `
		a acquire 3 3 ok until=23 token=ta
		b acquire 3 3 unknown
		b extend 7 10 ok`},
	// The lock is at rest between the second grant and the refusal: the critical section and the write are none of its business.
	{name: "a wrong fence and a refusal, with a critical section and a write in between", head: history.Header{Kind: history.Reentrant, Lease: msec}, ops: `
		d acquire 0 2 ok fence=3 token=td
		a acquire 3 5 ok fence=3 token=ta
		d use 3 9 token=td
		a write 8 10 unknown fence=3 read=2 wrote=3
		w acquire 10 50 busy`, want: "fencing-order×1 refusal×1", unordered: true},
	// Each half needs another difference of the clocks. Nothing can be in force between them.
	{name: "clocks that differ in one way and later in another", head: history.Header{Kind: history.Mutex, Lease: 5 * msec, ClockError: 2 * msec}, ops: `
		a acquire 10 10 ok
		b acquire 9 9 busy
		a acquire 1000 1000 ok
		b acquire 1008 1008 busy`},
	{name: "clocks that differ in two ways at once", head: history.Header{Kind: history.Mutex, Lease: 5 * msec, ClockError: 2 * msec}, ops: `
		a acquire 10 10 ok
		b acquire 9 9 busy
		b acquire 18 18 busy`, want: "refusal×1"},
	{name: "a use without a mode has that of its hold", head: leasedAs(history.RW), ops: `
		a acquire 0 1 ok shared
		a use 2 9
		b acquire 2 3 ok shared
		b use 4 8`},
}

func TestClassesThatWereJudgedWrongly(t *testing.T) {
	for _, r := range classRows {
		t.Run(r.name, func(t *testing.T) {
			v := r.check(t)
			if got := broken(v); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
			}
			if fails := v.property(verdicts.Linearizability).Verdict == Fail; r.want == "" && fails != r.unordered || r.unordered && !fails {
				t.Errorf("linearizability: %+v", v.property(verdicts.Linearizability))
			}
		})
	}
}

// TestWhatIsNotJudgedDoesNotPass: a property without a judged opportunity, or broken only within the clock error, is inconclusive.
func TestWhatIsNotJudgedDoesNotPass(t *testing.T) {
	for _, row := range []struct {
		name     string
		property verdicts.Property
		row
		why string
	}{
		{"a wait that a fault of its client interrupted", verdicts.Progress, row{head: leased, ops: "a acquire 0 9000 ok",
			extra: Input{Faults: []history.Window{{Fault: "pause-client", Client: "a", Node: -1, Start: 50 * msec, Ending: 51 * msec, End: 51 * msec, Confirmed: true}}}}, metAFault},
		{"waits longer than the lease", verdicts.MutualExclusion, row{head: leased, ops: "a acquire 0 150 ok\nb acquire 0 151 ok\nc acquire 0 152 ok"}, endNotKnown},
		// a's permit may be gone with the failover: how much of what came after must be searched together is too much.
		{"three of two permits, after a failover and many others", verdicts.Linearizability, row{head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 500 * msec},
			ops:   "a acquire 100 101 ok token=a\n" + pads(29, 150, 4) + "b acquire 400 402 ok token=b\nc acquire 400 402 ok token=c",
			extra: Input{Faults: []history.Window{{Fault: faultFailover, Start: 138 * msec, Ending: 139 * msec, End: 139 * msec, Confirmed: true}}}}, notSearched},
		{"an overlap of 489 ms with a clock error of a second", verdicts.MutualExclusion, row{head: history.Header{Kind: history.Mutex, Lease: 5000 * msec, ClockError: 1000 * msec},
			ops: "a acquire 0 1 ok\nb acquire 1 2 ok\na release 491 492 ok\nb release 900 901 ok"}, withinClockError},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := row.check(t).property(row.property)
			if p.Verdict != Inconclusive || p.Judged != 0 || p.NotJudged[row.why] == 0 {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestWhatIsGivenUpIsNotJudged: each refusal may have met a hold, but whether one execution gives each of them its own takes too long to find.
func TestWhatIsGivenUpIsNotJudged(t *testing.T) {
	p := (row{head: history.Header{Kind: history.RW, Lease: 20 * msec, ClockError: 20 * msec}, ops: `
		c acquire 1.25 1.5 ok shared token=t1
		f acquire 1.5 1.5 unknown
		d acquire 1.5 1.6 unknown shared
		e acquire 1.5 1.6 unknown shared
		g acquire 1.75 1.75 busy
		a acquire 2 2.25 ok shared token=t2
		b acquire 3.25 3.75 busy
		c release 4 4.75 not_held token=t1
		c acquire 5 5 ok shared token=t3
		g acquire 10.75 10.75 busy`}).check(t).property(verdicts.Refusal)
	if p.Verdict != Inconclusive || p.Judged != 0 || p.NotJudged[notSearched] != 3 {
		t.Errorf("%+v", p)
	}
}

// TestWhatMustNotMatterDoesNot: the order of the lines, a client that does nothing, a fault elsewhere.
func TestWhatMustNotMatterDoesNot(t *testing.T) {
	for _, r := range append(rows(), classRows...) {
		ops, in := parse(t, r.ops), r.extra
		in.Header = r.head
		want := broken(verdictOf(t, in, ops, r.opt))
		backwards := make([]history.Operation, 0, len(ops))
		for i := range ops {
			backwards = append(backwards, ops[len(ops)-1-i])
		}
		if got := broken(verdictOf(t, in, backwards, r.opt)); got != want {
			t.Errorf("%s: backwards it is %q, not %q", r.name, got, want)
		}
		idle := append(ops[:len(ops):len(ops)], history.Operation{ID: 999, Client: "idle", Key: "k", Op: history.Release, Call: 1, Return: 2, Outcome: history.Fail}) // an attempt is not nothing where votes count
		if got := broken(verdictOf(t, in, idle, r.opt)); got != want && len(ops) > 0 {
			t.Errorf("%s: with an idle client it is %q, not %q", r.name, got, want)
		}
		in.Faults = append(in.Faults[:len(in.Faults):len(in.Faults)], history.Window{Fault: faultPauseClient, Client: "idle", Node: -1, Start: 1, Confirmed: true})
		if got := broken(verdictOf(t, in, ops, r.opt)); got != want {
			t.Errorf("%s: with a fault elsewhere it is %q, not %q", r.name, got, want)
		}
	}
}

// TestOneUnknownAcquireOfMany has too many operations to be searched whole: one acquire of unknown outcome does not excuse refusals spread over ten
// seconds.
func TestOneUnknownAcquireOfMany(t *testing.T) {
	text := "z acquire 0 1 unknown\n"
	for i := range 200 {
		text += fmt.Sprintf("b acquire %d %d busy\n", 10+50*i, 11+50*i)
	}
	p := (row{head: leased, ops: text}).check(t).property(verdicts.Refusal)
	if p.Violations < 190 || p.NotJudged[unknownOutcomes] != 200-p.Violations || p.Judged != p.Violations {
		t.Errorf("%+v", p)
	}
}

// TestAReaderRefusesNoReader, not even one that may have acquired, with too many operations to be searched whole.
func TestAReaderRefusesNoReader(t *testing.T) {
	for _, lease := range []int64{0, 100 * msec} {
		text := "z acquire 0 1 unknown shared\n"
		for i := range 50 {
			text += fmt.Sprintf("b acquire %d %d busy shared\n", 10+i, 10+i)
		}
		p := (row{head: history.Header{Kind: history.RW, Lease: lease}, ops: text}).check(t).property(verdicts.Refusal)
		if p.Violations != 50 || p.Judged != 50 {
			t.Errorf("with a lease of %d: %+v", lease, p)
		}
	}
}

// TestWindowsKnowTheClockError: a, whose clock is ahead, was refused by b's hold, in a record with too many operations to be searched whole.
func TestWindowsKnowTheClockError(t *testing.T) {
	text := ""
	for i := range 50 {
		at := 100 * i
		text += fmt.Sprintf("b acquire %d %d ok\nb release %d %d ok\na acquire %d %d busy\n", at, at+1, at+2, at+3, at+5, at+5)
	}
	head := history.Header{Kind: history.Semaphore, Permits: 1, ClockError: 5 * msec}
	for _, kind := range []history.Kind{history.Semaphore, history.RW, history.Mutex} {
		head.Kind = kind
		v := (row{head: head, ops: text, opt: Options{Plain: true}}).check(t)
		if p := v.property(verdicts.Linearizability); p.Verdict == Fail {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}

// TestOneHolderThatExtendedLateIsOnePermit, of a record with too many operations to be searched whole.
func TestOneHolderThatExtendedLateIsOnePermit(t *testing.T) {
	text := ""
	for i := range 50 {
		text += fmt.Sprintf("z acquire %d %d ok\nz release %d %d ok\n", 10*i, 10*i+1, 10*i+2, 10*i+3)
	}
	text += "a acquire 1000 1001 ok\na extend 1150 1151 ok\nb acquire 1160 1161 busy"
	head := history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}
	if p := (row{head: head, ops: text}).check(t).property(verdicts.Refusal); p.Violations != 1 {
		t.Errorf("%+v", p)
	}
}
