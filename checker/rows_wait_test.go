package checker

import "github.com/lockbench/lockbench/history"

// waitRows are about refusals, and about grants that don't come.
var waitRows = []row{
	// Nobody held for 57 seconds of w's wait, though i was granted the lock at once before w was.
	{name: "a waiter that slept until after another", rule: "passed-over", head: history.Header{Kind: history.Mutex, Lease: 50 * msec, Wakeups: true}, ops: `
		h acquire 1000 1001 ok token=h
		w acquire 1200 59040 ok token=w asked=59032
		h release 1300 1301 ok token=h
		i acquire 59000 59001 ok token=i
		i release 59030 59031 ok token=i`, want: "progress×1"},
	{name: "a waiter that was not served until after another, and then refused", rule: "passed-over", head: leased, ops: `
		h acquire 1000 1001 ok token=h
		w acquire 1200 4040 busy
		h release 1300 1301 ok token=h
		i acquire 4000 4001 ok token=i`, want: "progress×1"},
	// v may have been granted it at any time, and have held for a lease.
	{name: "a waiter beside a grant that may have come earlier", head: leased, ops: `
		h acquire 1000 1001 ok token=h
		w acquire 1200 4040 busy
		h release 1300 1301 ok token=h
		v acquire 2000 4003 unknown
		i acquire 4000 4001 ok token=i`},
	// The restart explains why the extend was refused, and then nothing refused b.
	{name: "refused after a hold that a restart took", head: leased, ops: `
		a acquire 10 11 ok token=a
		a extend 16 17 lost token=a
		b acquire 20 21 busy`, extra: hitFrom(faultKillServer, 12, 15), want: "refusal×1"},
	// A renewal once the release was called is nobody's, though the release may have come later.
	{name: "waits beside a renewal that began with the release", head: history.Header{Kind: history.RW, Lease: msec}, ops: `
		b acquire 2 4 ok token=b
		w acquire 4 1007 busy
		b release 6 7 ok
		b extend 6 10 ok token=b`, want: "progress×1"},
	{name: "waits beside a renewal that began as the release returned", head: history.Header{Kind: history.Mutex, Lease: 20 * msec}, ops: `
		b acquire 2 3 ok token=b
		w acquire 7 1048 fail
		b release 10 30 ok token=b
		b extend 30 31 ok token=b`, want: "release-safety×1 progress×1"},
	// Nobody will release what an extend made again of a hold that nothing else ends.
	{name: "waits for a hold without a lease that was renewed after its release", head: forever, ops: `
		a acquire 6 8 ok token=a
		a release 12 13 not_held token=a
		a extend 13 17 ok token=a
		w acquire 13 1014 busy`, want: "progress×1"},
	// The first hold was over when the second was granted: the extend of the first renews the second no more.
	{name: "waits beside an unknown extend of an earlier hold", head: history.Header{Kind: history.Reentrant, Lease: 20 * msec, Drift: msec}, ops: `
		b acquire 0 4 ok until=19
		b extend 6 7 unknown
		b release 7 9 ok
		b acquire 9 9 ok until=28
		w acquire 24 1065 ok`, want: "progress×1"},
	// The release was asked about the second try, which may never have come to anything; the first may hold until 110.
	{name: "refused by the first of two lost tries, of which the second was released", head: leased, ops: `
		a acquire 0 10 unknown
		b acquire 20 30 busy
		a acquire 40 50 unknown token=t2
		a release 50 60 not_held token=t2`},
	{name: "refused by the first of two lost tries without tokens", head: leased, ops: `
		a acquire 0 10 unknown
		b acquire 20 30 busy
		a acquire 40 50 unknown
		a release 50 60 not_held`},
	{name: "refused by a lost try that was not there", head: leased, ops: `
		a acquire 0 10 unknown token=t1
		b acquire 20 30 busy
		a release 50 60 not_held token=t1`, want: "refusal×1", unordered: true},
	// The try at 1250 was too late by less than the clock error; that at 1400 was too late by any clock.
	{name: "waits on after it waited too long by the clock error", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 100 * msec}, ops: `
		a acquire 0 1 ok token=a
		b acquire 90 150 fail
		b acquire 1145 1250 fail
		b acquire 1390 1400 fail`, want: "progress×1"},
	{name: "waits, with a last attempt that takes no time", head: history.Header{Kind: history.Mutex, Lease: 300 * msec}, ops: `
		a acquire 0 1 fail
		a acquire 700 700 fail
		a acquire 1350 1350 fail
		b acquire 1400 1401 ok token=b`, want: "progress×1"},
	// The first hold, whose place the extend took, is none that a crashed client may still give back.
	{name: "waits for a crashed client that had lost its hold and got another", head: forever, extra: crashOf("a", 10*msec), ops: `
		a acquire 0 2 ok token=t0
		a lost 2 2 token=t0
		a extend 4 5 ok token=t0
		a release 10 10 ok
		a acquire 11 13 ok
		w acquire 14 1015 busy`, want: "progress×1 renewal×1"},
	// What the extend of 2 ms began was over at 8. That of 9 may have made it again, and so it may refuse at 12.
	{name: "refused by a hold that an extend began and another made again", head: history.Header{Kind: history.Mutex, Lease: msec}, ops: `
		a acquire 0 1 ok token=a
		a lost 1 1 token=a
		a extend 2 5 ok
		a extend 9 10 ok until=13 token=a
		a acquire 12 13 busy token=a`, want: "release-safety×1"},
	// The reply to the extend is what is wrong: the hold is there and refuses.
	{name: "refused after a reply that can't be", head: forever, ops: `
		a acquire 0 1 ok token=x
		a extend 3 4 not_held token=x
		b acquire 5 6 busy`, want: "renewal×1"},
	// The extend had returned when its client asked again: the hold was gone by then.
	{name: "refused at the instant at which an extend found the hold gone", head: history.Header{Kind: history.Mutex, Lease: 7 * msec}, ops: `
		a acquire 13 19 ok token=t1
		a extend 22 25 not_held token=t1
		a acquire 25 31 busy`, want: "refusal×1"},
	// The extend may have found its hold: it makes no second one, so that no wrong release explains the refusal either.
	{name: "refused beside one of two permits that was extended", head: history.Header{Kind: history.Semaphore, Lease: 1000 * msec, Permits: 2}, ops: `
		a acquire 1 2 ok token=x
		b acquire 1 2 ok token=y
		a release 3 4 ok token=x
		b extend 10 11 ok token=y
		c acquire 20 21 busy`, want: "refusal×1"},
	{name: "refused by its own release, and by nobody", head: forever, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		a acquire 3 4 busy
		a acquire 5 6 busy`, want: "refusal×2"},
	{name: "refused twice by a lost grant of one permit of two", head: history.Header{Kind: history.Semaphore, Lease: 100 * msec, Permits: 2}, ops: `
		a acquire 0 1 unknown
		b acquire 2 3 busy
		c acquire 2 3 busy`, want: "refusal×2"},
	// Two things are wrong, half a second apart: that no single rule is to blame for both clears neither.
	{name: "refused by nobody, and a reply that can't be long after", head: leased, ops: `
		a acquire 0 1 busy
		a acquire 500 501 ok token=x
		a release 502 503 not_held token=x`, want: "refusal×1", unordered: true},
	{name: "refused by nobody, and a fence that goes back long after", head: leased, ops: `
		a acquire 0 1 busy
		a acquire 500 501 ok token=x fence=2
		a release 502 503 ok token=x
		b acquire 504 505 ok token=y fence=1`, want: "fencing-order×1 refusal×1"},
	// Either the refusal is wrong, or b's release ended a's hold and left b's own, by a clock that is 2 ms ahead.
	{name: "refused by nobody, or by a hold whose release ended another's",
		head: history.Header{Kind: history.RW, Lease: msec, Drift: msec, ClockError: 2 * msec}, unordered: true, ops: `
		a acquire 1 2 ok until=1 token=t0
		c acquire 1 2 ok shared until=1 token=t1
		c acquire 3 3 ok shared until=3
		a acquire 3 4 ok shared until=4
		b acquire 3 5 ok shared until=3 token=t3
		c release 4 5 ok shared
		b release 5 6 ok shared token=t3
		a extend 8 8 unknown shared
		w acquire 10 11 busy`},
	{name: "refused by a holder", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 2 3 busy
		a release 4 6 ok
		c acquire 5 6 busy`},
	{name: "refused by nobody", rule: "busy-witness", head: forever, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 5 busy`, want: "refusal×1"},
	{name: "refused by a hold that a later grant proves to be over", rule: "busy-witness", head: forever, ops: `
		a acquire 0 1 ok
		a release 2 50 ok
		b acquire 10 20 ok
		b release 21 22 ok
		c acquire 30 31 busy`, unordered: true},
	{name: "refused by a hold that is extended, of a grant that came a lease after its call",
		head: history.Header{Kind: history.Reentrant, Lease: 1000 * msec, Wakeups: true}, ops: `
		c acquire 0 1 ok
		c extend 900 901 ok until=1900
		c release 1499 1500 ok
		a acquire 0 1501 ok
		a acquire 1501 1502 ok
		a release 1600 1601 ok
		a extend 2300 2301 ok until=3300
		a extend 3200 3201 ok until=4200
		a extend 4100 4101 ok until=5100
		b acquire 1570 4570 fail
		a release 4600 4601 ok`},
	// A client does one thing after the other, though it asked again at the instant of the refusal.
	{name: "refused by its own later hold", head: leased, ops: `
		a acquire 1 2 busy
		a acquire 2 3 ok`, want: "refusal×1"},
	{name: "refused by an unknown acquire", head: forever, ops: `
		a acquire 0 1 unknown
		b acquire 4 5 busy`},
	{name: "refused by an unknown acquire that cannot have been", rule: "busy-witness", head: forever, ops: `
		a acquire 0 1 unknown
		b acquire 4 5 busy
		b acquire 6 7 ok`, unordered: true},
	{name: "refused by an unknown release", head: forever, ops: `
		a acquire 0 1 ok
		a release 2 3 unknown
		b acquire 4 5 busy`},
	{name: "refused by a lease that nobody released", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 99 101 busy`},
	{name: "refused by a lease that is over", rule: "busy-witness", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 130 131 busy`, want: "refusal×1"},
	{name: "waits for a hold that its client renewed and did not report", head: leased, extra: behind("PEXPIRE"), ops: `
		a acquire 0 1 ok
		b acquire 110 1400 fail
		a release 1500 1501 ok`},
	{name: "waits for a hold, while its client changes the guarded store", head: leased, extra: toStore(behind("PEXPIRE")), ops: `
		a acquire 0 1 ok
		b acquire 110 1400 fail
		a release 1500 1501 not_held`, want: "progress×1"},
	// The second extend takes back the reply to the first, and not what the release, which returned later, ended.
	{name: "waits after a release that was accepted while an extend was under way", head: history.Header{Kind: history.Semaphore, Permits: 3, Lease: 5 * msec}, ops: `
		b acquire 0 5 ok token=t0
		b extend 6 8 lost token=t0
		b extend 8 10 ok token=t0
		b release 9 11 ok token=t0
		w acquire 10 1017 ok`, want: "release-safety×1 progress×1"},
	{name: "refused by a hold that its client renewed and did not report", head: leased, extra: behind("PEXPIRE"), ops: `
		a acquire 0 1 ok
		b acquire 140 141 busy
		a release 1500 1501 ok`},
	{name: "refused by a hold that its client only looked at", rule: "busy-witness", head: leased, extra: behind("PTTL"), ops: `
		a acquire 0 1 ok
		b acquire 140 141 busy
		a release 1500 1501 not_held`, want: "refusal×1"},
	{name: "waits for a hold that its client only looked at", rule: "free-but-refused", head: leased, extra: behind("PTTL"), ops: `
		a acquire 0 1 ok
		b acquire 110 1400 fail
		a release 1500 1501 ok`, want: "progress×1"},
	{name: "refused by another's attempt, where votes split", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: `
		a acquire 0 5 busy
		b acquire 2 4 busy`},
	{name: "refused by another's attempt that failed, where votes split", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: `
		a acquire 0 5 fail
		b acquire 6 7 busy`},
	{name: "refused by nothing but its own attempt, where votes split", rule: "busy-witness", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: `
		b acquire 0 1 busy
		b acquire 2 3 busy`, want: "refusal×2"},
	{name: "refused behind an attempt that came first by the clock error, where order is promised", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, FIFO: true, ClockError: 5 * msec}, ops: `
		b acquire 0 1 busy
		a acquire 4 10 fail`},
	{name: "refused before an attempt that came later by any clock, where order is promised", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, FIFO: true, ClockError: 5 * msec}, ops: `
		b acquire 0 1 busy
		a acquire 6 10 fail`, want: "refusal×1"},
	{name: "refused behind another's attempt that failed, where order is promised", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, FIFO: true}, ops: `
		a acquire 0 5 fail
		b acquire 3 4 busy`},
	{name: "refused by the request of a client that crashed", head: leased, extra: Input{Commands: []history.Command{asks("a", 29)},
		Faults: []history.Window{{Fault: "crash-client", Client: "a", Start: 30 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 40 41 busy`},
	{name: "refused beside a client that crashed and had asked for nothing", rule: "busy-witness", head: leased, extra: crashOf("a", 30*msec), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 40 41 busy`, want: "refusal×1"},
	// a learnt of a hold that had already ended; while the reply was under way it existed, and refused b.
	{name: "refused by a grant whose reply came after its lease", head: leased, ops: `
		a acquire 0 300 ok until=120
		b acquire 10 11 busy
		c acquire 150 160 ok`},
	// What a's library reports at the end of a wait after a's death does not count as a wait.
	{name: "a dead client waits for nothing", head: leased, extra: crashOf("a", 400*msec), ops: `
		b acquire 0 1 ok
		b release 2 3 ok
		a acquire 4 1900 fail`},
	// a promised to report the loss of its hold, and died: from then on it believes nothing.
	{name: "the dead believe nothing", head: leased, extra: crashOf("a", 30*msec), ops: `
		a acquire 0 1 ok until=told
		b acquire 100 200 ok`},
	// The server was stopped, and granted a the lock when the lease counted from its call had ended; a held all the same until its release.
	{name: "refused by a grant that the server gave late", head: leased, ops: `
		a acquire 2 160 ok
		b acquire 165 166 busy
		a release 170 171 ok
		b acquire 180 181 ok`},
	{name: "refused after the release of a grant that the server gave late", rule: "busy-witness", head: leased, ops: `
		a acquire 2 160 ok
		a release 165 166 ok
		b acquire 170 171 busy`, want: "refusal×1"},
	{name: "refused by a grant that was taken back, for its reply came after the lease", head: leased,
		extra: commands(history.Command{Client: "a", Name: "SET", Args: []string{"k"}, Sent: msec, Replied: 159 * msec, Reply: "OK"}), ops: `
		a acquire 0 160 fail
		b acquire 50 51 busy
		b acquire 170 171 ok`},
	{name: "refused after an attempt that failed at once", rule: "busy-witness", head: leased, ops: `
		a acquire 0 60 fail
		b acquire 50 51 busy
		b acquire 170 171 ok`, want: "refusal×1"},
	{name: "a reader refused beside readers", rule: "busy-witness", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		b acquire 2 3 busy shared`, want: "refusal×1"},
	{name: "a writer refused by an older reader", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		a release 2 3 unknown shared
		b acquire 4 5 ok shared
		b release 6 7 ok shared
		c acquire 8 9 busy`},
	{name: "a permit refused while one is free", rule: "busy-witness", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		a acquire 0 1 ok
		b acquire 2 3 busy`, want: "refusal×1"},
	{name: "a waiter gets nothing for a lease and the grace", rule: "free-but-refused", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`, want: "progress×1"},
	{name: "many short attempts get nothing", rule: "free-but-refused", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 500 fail
		c acquire 500 900 fail
		b acquire 901 1200 fail`, want: "progress×1"},
	{name: "the server was down meanwhile", head: leased, extra: Input{Faults: []history.Window{{Fault: "kill-server", Start: 5 * msec, End: 900 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`},
	{name: "another was granted, and paused until its lease was over", head: leased, extra: paused(), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		c acquire 4 1195 fail
		b acquire 4 1200 fail`},
	{name: "another was granted, paused until its lease was over, and granted again", head: leased, extra: paused(), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1150 ok
		b release 1151 1152 ok
		c acquire 4 1195 ok`},
	{name: "another was paused, and had nothing under way", rule: "free-but-refused", head: leased, extra: pausedIdle(), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		c acquire 4 1195 fail
		b acquire 4 1200 fail`, want: "progress×1"},
	{name: "a failover left no replica to confirm a grant", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, NeedsReplica: true}, extra: failoverAt(5), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`},
	{name: "a failover left a primary that grants", rule: "free-but-refused", head: leased, extra: failoverAt(5), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`, want: "progress×1"},
	{name: "the answer was held up meanwhile", head: leased, extra: heldUp(10, 1190), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`},
	{name: "an answer was held up, and another heard", rule: "free-but-refused", head: leased, extra: heldUp(10, 20), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`, want: "progress×1"},
	{name: "an answer was held up, and one to an earlier request heard", head: leased, extra: heldUp(4, 20), ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`},
	{name: "granted long after it was free", rule: "late-grant", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 1 1200 ok`, want: "progress×1"},
	// The lease and the grace are over, and b has not had the lock in them.
	{name: "granted after a lease and the grace to the nanosecond", rule: "late-grant", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 1 1103 ok`, want: "progress×1"},
	{name: "granted a nanosecond before a lease and the grace are over", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 1 1102.999999 ok`},
	// By b's clock a may have had the lock until 8.
	{name: "a wait that began after the release, by less than the clock error", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 5 * msec}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1107 ok`},
	{name: "a refused wait that began after the release, by less than the clock error", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 5 * msec}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1107 fail`},
	// One clock has told both b's release and its wait.
	{name: "a wait for the lock that the same client had", rule: "late-grant", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 5 * msec}, ops: `
		b acquire 0 1 ok
		b release 2 3 ok
		b acquire 3 1104 ok`, want: "progress×1"},
	{name: "never granted", rule: "never-granted", head: leased, ops: `
		a acquire 0 1 busy
		a acquire 2 3 busy`, want: "progress×1 refusal×2"},
	{name: "a dead holder and no lease", rule: "free-but-refused", head: forever, extra: Input{Faults: []history.Window{{Fault: "crash-client", Client: "a", Start: 2 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		b acquire 4 1200 busy`, want: "progress×1"},
	{name: "a holder at work and no lease", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 4 1200 busy`},
	{name: "a lost release and no lease", rule: "free-but-refused", head: forever, ops: `
		a acquire 0 1 ok
		a release 2 3 unknown
		b acquire 4 1200 busy`, want: "progress×1"},
	// The extend that was accepted may have made a's hold again, until 302 ms.
	// Only one of two permits was taken, and that for a time too short for progress to be broken.
	{name: "a wait behind an extend that was accepted of a hold whose lease was over, while a release said so",
		head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}, ops: `
		a acquire 3 3 ok token=x
		a release 106 108 not_held
		a extend 107 112 ok token=x
		b acquire 107 1308 busy`, want: "release-safety×1 progress×1 refusal×1"},
	{name: "a wait behind an extend that was accepted of a hold said to be gone", head: leased, opt: Options{Plain: true}, ops: `
		a acquire 0 1 ok token=ta
		w acquire 9 1300 ok
		a extend 120 121 lost token=ta
		a release 125 126 unknown token=ta
		a extend 200 202 ok token=ta`, want: "release-safety×1 progress×1"},
	// The release got no answer and the watchdog went on: the lock is kept, for nobody.
	{name: "a wait behind renewals that go on after a release of unknown outcome", head: history.Header{Kind: history.Mutex, Lease: 400 * msec}, ops: `
		a acquire 0 1 ok token=ta
		a release 5 6 unknown token=ta
		w acquire 10 2000 busy
		a extend 300 301 ok token=ta
		a extend 600 601 ok token=ta
		a extend 900 901 ok token=ta
		a extend 1200 1201 ok token=ta
		a extend 1500 1501 ok token=ta`, want: "progress×1"},
	// The last extend was asked before the release was called, and the wait is shorter than a lease and the grace after it.
	{name: "a wait behind a renewal that was under way when the release was called", head: history.Header{Kind: history.Mutex, Lease: 400 * msec}, ops: `
		a acquire 0 1 ok token=ta
		w acquire 10 2000 busy
		a extend 4 300 ok token=ta
		a release 5 6 unknown token=ta`},
	// At half speed, a's lease ran from 590 to 690 at the latest.
	{name: "a refusal by a lease that ran slow", head: leased, ops: `
		a acquire 581 590 ok
		c acquire 718 729 busy`, extra: hitFrom(faultDriftClock, 120, 900)},
	// The lease was over when the clock was set back, and before it ran slow.
	{name: "a refusal long after a lease, which a later clock does not excuse", head: leased, ops: `
		a acquire 0 1 ok
		c acquire 300 310 busy
		p acquire 900 910 ok`, extra: hitFrom(faultDriftClock, 500, 900), want: "refusal×1"},
	// Nothing can have been there before the extend, wherever the clock was set.
	{name: "a refusal without reason before an extend of no hold, though a clock was set", head: leased, ops: `
		b acquire 0 6 busy
		b extend 130 170 ok`, extra: Input{Faults: []history.Window{{Fault: faultJumpClock, Start: 40 * msec, End: 170 * msec, Confirmed: true,
		Effects: []history.Effect{{At: 50 * msec, What: history.ClockSet, By: 30 * msec}}}}}, want: "refusal×1 renewal×1"},
}

// paused is a request of c that is under way while c is paused; pausedIdle is one that was answered before.
func paused() Input {
	sent := asks("c", 5)
	sent.Replied = 1190 * msec
	return Input{Commands: []history.Command{sent},
		Faults: []history.Window{{Fault: "pause-client", Client: "c", Start: 6 * msec, End: 1190 * msec, Confirmed: true}}}
}

func pausedIdle() Input {
	in := paused()
	in.Commands[0].Replied = 5*msec + 1
	return in
}

// failoverAt is a failover that takes 10 ms.
func failoverAt(ms int64) Input {
	return Input{Faults: []history.Window{{Fault: "failover", Start: ms * msec, End: (ms + 10) * msec, Confirmed: true}}}
}

// heldUp is a fault that delays the reply to a request of b, and another request that b sends and receives a reply to at given instants, in
// milliseconds.
func heldUp(sent, heard int64) Input {
	held, other := asks("b", 5), asks("b", sent)
	held.Replied, other.Replied = 1190*msec, heard*msec
	return Input{Commands: []history.Command{held, other},
		Faults: []history.Window{{Fault: "delay-reply", Client: "b", Start: 6 * msec, End: 1190 * msec, Confirmed: true}}}
}

// behind is what a sends when it acquires, and every 80 ms by itself.
func behind(name string) Input {
	sent := []history.Command{{Client: "a", Op: 1, Sent: 0, Replied: 1 * msec, Name: "SET", Args: []string{"job", "t"}, Reply: "OK"}}
	for at := int64(80); at < 1500; at += 80 {
		sent = append(sent, history.Command{Client: "a", Sent: at * msec, Replied: (at + 1) * msec, Name: name, Args: []string{"job", "100"}, Reply: "1"})
	}
	return Input{Commands: sent}
}

// toStore sends all commands of a record to the guarded store.
func toStore(in Input) Input {
	for i := range in.Commands {
		in.Commands[i].Node = -1
	}
	return in
}
