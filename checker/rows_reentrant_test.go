package checker

import "github.com/lockbench/lockbench/history"

var reentrant = history.Header{Kind: history.Reentrant, Lease: 100 * msec}

// reentrantRows are about the entries of one owner.
var reentrantRows = []row{
	// At one instant the refusal may have come before the grant.
	{name: "refused and granted at one instant", head: reentrant, ops: `
		b acquire 1099 1100 ok token=y
		a acquire 1100 1100 busy
		b release 1100 1100 ok token=y
		a acquire 1100 1100 ok token=x`},
	// At one instant the release may have come before the acquire.
	{name: "a refused release at the instant of an acquire", head: reentrant, ops: `
		a release 10 10 not_held
		a acquire 10 10 ok`},
	// Whichever it meant, the lease of that was running.
	{name: "a refused release at the instant of a re-entry", head: reentrant, ops: `
		a acquire 0 1 ok
		a release 10 10 not_held
		a acquire 10 10 ok`, want: "reentrancy×1"},
	// The client had the token before; a reply about the hold before is lawful, and what is held since is held.
	{name: "a refused release at the instant of an acquire under the client's one token", head: reentrant, ops: `
		a acquire 0 1 ok token=a
		a release 2 3 ok token=a
		a release 10 10 not_held token=a
		a acquire 10 10 ok token=a
		a acquire 12 13 ok token=a
		a release 14 15 ok token=a
		b acquire 16 17 busy
		a release 18 19 ok token=a`},
	// The acquire gave it the token.
	{name: "a refused release with the token that an acquire at its instant returned", head: reentrant, ops: `
		a acquire 0 1 ok token=a
		a release 2 3 ok token=a
		a release 10 10 not_held token=b
		a acquire 10 10 ok token=b`, want: "reentrancy×1"},
	// The fault meets the outer hold and not the inner one, in which the client believes as well.
	{name: "the owner is refused, and a fault met an outer hold", head: history.Header{Kind: history.Reentrant, Lease: 5 * msec},
		extra: Input{Faults: []history.Window{{Fault: "pause-client", Client: "a", Node: -1, Start: 1, End: 5 * msec, Confirmed: true}}}, ops: `
		a acquire 2 3 ok token=a
		a acquire 9 12 ok token=a
		a extend 10 11 ok token=a
		a acquire 12 13 busy token=a`, want: "reentrancy×1"},
	// The client enters again 24 ms after its hold had ended: that renews nothing which was there at the write.
	{name: "a stale write before the next entry", head: history.Header{Kind: history.Reentrant, Lease: 5 * msec}, ops: `
		a acquire 6 6.1 ok
		b acquire 16 16.1 ok
		b write 20 20.1 ok read=0 wrote=1
		a write 25 25.1 ok read=1 wrote=2
		a acquire 30 30.1 ok`, want: "store-integrity×1"},
	// The server answered that a's hold was gone. The release of unknown outcome can renew nothing of the hold that a got later.
	{name: "a wait after a reply that the hold before was gone", head: history.Header{Kind: history.Reentrant, Lease: 5 * msec}, ops: `
		a acquire 3 3 ok token=ta
		a release 6 6 unknown token=ta
		a extend 7 7 lost token=ta
		a acquire 9 9 ok
		w acquire 10 1021 ok`, want: "progress×1"},
	// The extend, wrongly accepted, may have made a's hold again before a entered; then its release, which was not answered, may renew that.
	{name: "a wait after an entry beside an extend that made the hold again", head: history.Header{Kind: history.Reentrant, Lease: msec}, ops: `
		a acquire 3 4 ok token=ta
		a release 4 5 unknown token=ta
		a acquire 9 10 ok token=ta
		a extend 9 10 ok
		w acquire 11 1014 ok`},
	{name: "in and out twice", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 ok
		b acquire 5 6 busy
		a release 6 7 ok
		b acquire 7 8 ok`},
	{name: "the inner release frees the lock", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 ok
		b acquire 5 6 ok
		a release 7 8 not_held
		b release 9 10 ok`, want: "mutual-exclusion×1 reentrancy×1"},
	{name: "the owner is refused", rule: "owner-refused", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 busy
		a release 4 5 ok`, want: "reentrancy×1"},
	{name: "a release too many is accepted", rule: "release-of-nothing", head: reentrant, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		a release 4 5 ok`, want: "reentrancy×1"},
	{name: "the outer release is refused", rule: "owner-not-held", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 ok
		a release 6 7 not_held`, want: "reentrancy×1"},
	{name: "re-entry after the lease, while another holds", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a acquire 120 121 ok
		b release 130 131 ok`, want: "mutual-exclusion×1"},
	// The grant came after the lease that its holder counts; the extend that it began before its re-entry succeeded.
	{name: "re-entry while an extend of a hold that had lapsed is under way", head: reentrant, ops: `
		a acquire 0 120 ok
		a extend 121 130 ok until=221
		a acquire 125 126 ok until=221
		a release 140 141 ok
		a release 150 151 ok
		b acquire 160 161 ok
		b release 170 171 ok`},
	{name: "the inner release after a late extend frees the lock", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 120 ok
		a extend 121 130 ok until=221
		a acquire 125 126 ok until=221
		a release 140 141 ok
		b acquire 145 146 ok
		a release 150 151 not_held
		b release 160 161 ok`, want: "mutual-exclusion×1 reentrancy×1"},
	// If the first release had no effect, the second one was of the inner entry, and the outer one lasts until its lease ends.
	{name: "waited while the outer hold may have been left", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 50 51 ok
		a release 52 53 unknown
		a release 54 55 ok
		b acquire 56 1240 busy`},
	{name: "waited for longer than it may have been left", rule: "free-but-refused", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 50 51 ok
		a release 52 53 unknown
		a release 54 55 ok
		b acquire 56 1400 busy`, want: "progress×1"},
	// The first release took effect at some time; the second one is of the outer entry, and then the lock is free.
	{name: "the reply of the inner release is lost", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 unknown
		a release 6 7 ok
		b acquire 8 9 ok
		b release 10 11 ok`},
	// The answer to the inner release says nothing of the outer hold.
	{name: "the inner release is refused, and the outer hold is extended", rule: "owner-not-held", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 not_held
		a extend 6 7 ok`, want: "reentrancy×1"},
	// The first acquire may have taken effect at 100 ms, as a re-entry.
	{name: "an extend after an acquire of unknown outcome may have renewed the hold", head: reentrant, ops: `
		a acquire 0 1 unknown
		a acquire 2 3 ok fence=3
		b acquire 106 160 ok fence=3
		b release 161 162 ok
		a extend 150 170 ok`, want: "fencing-order×1"},
	// It belongs to the hold that is open, although its client is being granted another with the same token.
	{name: "an extend during a re-entry resumes the outer belief", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 1 ok token=x
		a acquire 2 130 ok token=x until=300
		a extend 110 111 ok token=x
		b acquire 120 121 ok token=y
		b release 125 126 ok token=y`, want: "mutual-exclusion×1"},
	{name: "an outer hold is lost while the inner one is granted", rule: "healthy-lost", head: reentrant, ops: `
		a acquire 0 1 ok token=x
		a acquire 60 65 ok
		a extend 61 64 lost token=x
		b acquire 50 1200 fail`, want: "renewal×1"},
	// The answer to the inner release ends the belief in the inner hold only.
	{name: "the outer hold is believed in after the inner release was refused", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 not_held
		b acquire 6 7 ok`, want: "mutual-exclusion×1 reentrancy×1"},
	{name: "the outer hold is believed in after an extend was refused", rule: "belief-overlap", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a extend 4 5 lost
		b acquire 6 7 ok`, want: "mutual-exclusion×1 renewal×1"},
	// The inner belief outlasts the outer one, whose overlap is within the clock error.
	{name: "the outer hold is lost before the inner grant returns", rule: "belief-overlap",
		head: history.Header{Kind: history.Reentrant, Lease: 100 * msec, ClockError: 2 * msec}, ops: `
		b acquire 2 4 ok token=x
		a acquire 5 5 ok
		b acquire 5 11 ok token=x
		b extend 6 6 lost token=x`, want: "mutual-exclusion×1 renewal×1"},
	{name: "the outer hold is lost after the inner grant returned", rule: "belief-overlap",
		head: history.Header{Kind: history.Reentrant, Lease: 100 * msec, ClockError: 5 * msec}, ops: `
		b acquire 2 4 ok token=x
		a acquire 8 9 ok
		b acquire 10 10 ok
		b lost 12 12 token=x`, want: "mutual-exclusion×1 renewal×1"},
	{name: "the outer hold is released at the instant of the inner grant", rule: "belief-overlap", head: history.Header{Kind: history.Reentrant}, ops: `
		b acquire 1 1 ok token=x
		c acquire 4 4 ok
		b acquire 4 4 ok
		b release 4 4 ok token=x`, want: "mutual-exclusion×1"},
	// Three acquires of unknown outcome leave many executions to try, but the key was gone when the extend was called.
	{name: "an extend is accepted after another was told that its hold is gone", head: reentrant, ops: `
		b acquire 49 52 unknown
		b acquire 149 153 unknown
		b acquire 154 156 ok fence=1 token=tb
		b acquire 156 158 unknown
		b acquire 252 256 busy
		a acquire 254 259 ok fence=2 token=ta
		b extend 256 259 lost token=tb
		b extend 259 262 ok token=tb`, want: "mutual-exclusion×1 release-safety×1"},
}
