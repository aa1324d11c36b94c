package checker

import "github.com/lockbench/lockbench/history"

// renewalRows are about extends.
var renewalRows = []row{
	// Neither answer can be. What they would explain is told of neither the refusal nor the fence.
	{name: "told twice that a running hold is gone, and refused after its lease", head: leased, ops: `
		a acquire 1000 1001 ok token=x
		a extend 1038 1039 not_held token=x
		a extend 1053 1054 not_held token=x
		b acquire 1110 1111 busy`, want: "refusal×1 renewal×1", unordered: true},
	{name: "told twice that a running hold is gone, and a fence that goes back", head: leased, ops: `
		a acquire 1000 1001 ok token=x fence=2
		b acquire 1130 1131 ok token=y fence=1
		b extend 1184 1185 not_held token=y
		b extend 1204 1205 not_held token=y`, want: "fencing-order×1 renewal×1", unordered: true},
	// The pause excuses the answer of 147.5, and so the extend before it.
	{name: "told that a running hold is gone while it was paused", head: history.Header{Kind: history.RW, Lease: 10 * msec}, ops: `
		a acquire 122.5 127.5 ok shared
		a extend 127.5 132.5 ok
		a extend 142.5 142.5 ok
		a extend 147.5 147.5 not_held`,
		extra: Input{Faults: []history.Window{{Fault: "pause-client", Client: "a", Start: 100 * msec, End: 300 * msec, Confirmed: true}}}, unordered: true},
	{name: "lost, beside a hold without a token that had lapsed", head: history.Header{Kind: history.Mutex, Lease: 5 * msec}, rule: "healthy-lost", ops: `
		a acquire 63 64 ok
		a acquire 76 77 ok token=x
		a extend 78 79 lost token=x`, want: "renewal×1"},
	// The last reply may have come before the extend, which began a new hold.
	{name: "told twice that a hold is gone, at the instant of an extend that succeeds", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: msec}, ops: `
		b acquire 1 4 ok token=b
		b extend 6 7 lost token=b
		b extend 7 7 ok
		b extend 7 7 lost token=b`, want: "release-safety×1"},
	// By the clock of the record of faults, a's acquire may have come before the eviction.
	{name: "lost after an eviction, within the clock error", head: history.Header{Kind: history.Mutex, Lease: 500 * msec, ClockError: msec}, ops: `
		a acquire 139.3 139.5 ok token=x
		a extend 150 151 lost token=x`,
		extra: Input{Faults: []history.Window{{Fault: faultEvictKeys, Start: 130 * msec, End: 138.6 * msec, Confirmed: true}}}},
	// The release was called at the instant at which the extend was answered, and may have come first.
	{name: "lost to its own release", head: leased, ops: `
		a acquire 0 0 ok token=t1
		a extend 10 20 lost token=t1
		a release 20 25 ok token=t1`},
	{name: "lost before its own release", head: leased, rule: "healthy-lost", ops: `
		a acquire 0 0 ok token=t1
		a extend 10 20 lost token=t1
		a release 21 25 ok token=t1`, want: "renewal×1"},
	{name: "told of a loss at the instant of its acquire", head: leased, ops: `
		a lost 10 10
		a acquire 10 10 ok`},
	// It was answered when its client asked for the lock, so that it is an extend of nothing.
	{name: "an extend answered at the call of the acquire with its token", head: leased, ops: `
		b extend 2 3 ok until=6 token=b1
		b acquire 3 5 ok until=9 token=b1`, want: "release-safety×1 renewal×1"},
	{name: "a late reply that a hold is gone, after a renewal of the hold that began in its place",
		head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 3 * msec, ClockError: msec}, ops: `
		a acquire 0 2 ok until=3
		a lost 3 3
		a extend 3 7 lost
		a extend 4 4 ok until=7
		a extend 6 6 ok until=9`, want: "renewal×1"},
	{name: "a healthy hold is reported lost", rule: "healthy-lost", head: leased, ops: `
		a acquire 0 1 ok
		a extend 50 51 lost`, want: "renewal×1"},
	{name: "an extend after the release", rule: "outlived-release", head: leased, ops: `
		a acquire 0 1 ok
		a release 10 11 ok
		a extend 20 21 ok`, want: "release-safety×1 renewal×1"},
	{name: "an extend of the next hold, whose grant is not told yet", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a release 10 11 ok token=t1
		a extend 20 21 ok token=t2
		a acquire 15 25 ok token=t2`},
	{name: "an extend without a token while the acquire is under way", head: leased, ops: `
		a acquire 0 20 ok
		a extend 10 11 ok`},
	{name: "an extend is refused that begins as its grant returns", head: forever, ops: `
		a acquire 0 1 ok token=t1
		a extend 1 2 not_held token=t1`, want: "renewal×1"},
	// The hold of a explains the refusal: the extend comes after the grant.
	{name: "a refusal beside an extend that begins as its grant returns", head: forever, ops: `
		a acquire 0 2 ok token=t1
		b acquire 1 1 busy
		a extend 2 3 not_held token=t1`, want: "renewal×1"},
	{name: "an extend of an entry whose release was not answered", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 unknown
		a release 6 7 ok
		a acquire 12 13 ok
		a release 14 15 ok
		a extend 20 21 ok`},
	// The server still counts the entry whose release got no reply: a pending extend keeps it when its client comes back.
	{name: "an extend of an entry that an extend under way has kept", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 unknown
		a release 6 7 ok
		a extend 90 130 ok
		a acquire 120 121 ok
		a release 124 125 ok
		a extend 140 141 ok`},
	// The first hold is still open, because its inner release got no reply: the extend belongs to it and comes late.
	{name: "an extend after the release of a hold that began when none was under way", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 unknown
		a release 6 7 ok
		a acquire 120 121 ok
		a release 124 125 ok
		a extend 140 141 ok`},
	{name: "an extend of an entry that was not answered", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 unknown
		a release 6 7 ok
		a extend 20 21 ok`},
	{name: "an extend of another's hold", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a extend 120 121 ok
		b release 130 131 ok`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "an extend of a lock that is free again", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 118 119 ok
		a extend 120 121 ok`, want: "release-safety×1"},
	// The acquire of unknown outcome was called when the extend had been answered, though at one instant.
	{name: "an extend of no hold that returned when its client asked for one", rule: "outlived-release", head: history.Header{Kind: history.Reentrant, Lease: 100 * msec}, ops: `
		b extend 5 10 ok
		b acquire 10 12 unknown`, want: "release-safety×1 renewal×1"},
	// It was called when the refusal was known, and its hold was gone.
	{name: "an extend at the instant at which the one before was refused", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		a extend 98 105 lost
		a extend 105 105 ok`, want: "release-safety×1"},
	// It may have found its hold at 16 ms, before the release did, whatever else is broken.
	{name: "an extend at the instant of its own release, beside a refusal without reason", head: leased, ops: `
		a acquire 0 1 busy
		b acquire 10 11 ok
		b release 12 16 ok
		b extend 16 18 ok`, want: "refusal×1"},
	{name: "an extend right after its own release, beside a refusal without reason", rule: "outlived-release", head: leased, ops: `
		a acquire 0 1 busy
		b acquire 10 11 ok
		b release 12 16 ok
		b extend 17 18 ok`, want: "release-safety×1 refusal×1 renewal×1"},
	// It may have found the hold that was granted at 7 ms.
	{name: "an extend of no known token, during two grants", head: history.Header{Kind: history.RW, Lease: 100 * msec}, ops: `
		a extend 4 8 ok token=x
		a acquire 5 5 ok shared token=y
		a acquire 6 7 ok shared`},
}
