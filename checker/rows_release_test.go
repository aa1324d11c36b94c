package checker

import "github.com/lockbench/lockbench/history"

// releaseRows are about which hold a release ended.
var releaseRows = []row{
	// The late extend made the hold again, and that refused b.
	{name: "refused by a hold that an extend made again after its release", head: leased, ops: `
		a acquire 0 1 ok token=x
		a release 2 3 ok token=x
		a extend 4 5 ok token=x
		b acquire 10 11 busy`, want: "release-safety×1 renewal×1"},
	{name: "refused by a hold that an extend made again after it was said to be gone", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
		a acquire 2 3 ok token=x
		a extend 15 15.1 not_held token=x
		a extend 16 20 ok token=x
		b acquire 17 21 busy`, want: "release-safety×1"},
	// a had a hold with that token, and no other: the lapsed one without a token is not meant.
	{name: "refused after a release with a token, beside a hold without one that had lapsed", head: history.Header{Kind: history.Mutex, Lease: 5 * msec}, ops: `
		a acquire 63 64 ok
		a acquire 1076 1077 ok token=x
		a release 1078 1079 ok token=x
		b acquire 1080 1081 busy`, want: "refusal×1"},
	// The acquire of unknown outcome was exclusive, so that it can't have begun what was extended.
	{name: "an extend of a shared hold that nobody asked for", head: history.Header{Kind: history.RW, Lease: msec}, ops: `
		a acquire 14 17 unknown
		a extend 21 21 ok shared`, want: "release-safety×1 renewal×1"},
	// Neither can have found its hold, and neither made it again for the other.
	{name: "two extends at once of a hold that had ended", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: msec}, ops: `
		b acquire 2 4 ok token=b
		b extend 7 9 ok until=13 token=b
		b extend 7 10 ok until=13 token=b`, want: "release-safety×2"},
	// b's SET found the key free: a's release had removed a's own. What ended b's hold early is another matter.
	{name: "removed its own while the next was asking", head: leased, ops: `
		a acquire 0 1 ok token=a
		b acquire 0 22 ok token=b
		a release 20 21 ok token=a
		a acquire 50 51 ok token=c
		b release 60 61 not_held token=b`, extra: commands(
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "a"}, Sent: 20 * msec, Replied: 21 * msec, Reply: "1"},
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "b", "NX"}, Sent: 20 * msec, Replied: 22 * msec, Reply: "OK"}), want: "mutual-exclusion×1"},
	// b's SET found a's key and set nothing, yet b took that for a grant: the release removed a's own.
	{name: "removed its own beside a grant that set nothing", head: leased, ops: `
		a acquire 0 1 ok token=a
		b acquire 0 3 ok token=b
		a release 20 21 ok token=a
		a acquire 50 51 ok token=c
		b release 60 61 not_held token=b`, extra: commands(
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "b", "NX"}, Sent: 2 * msec, Replied: 3 * msec, Reply: "(nil)"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "a"}, Sent: 20 * msec, Replied: 21 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "SET", Args: []string{"k", "c", "NX"}, Sent: 50 * msec, Replied: 51 * msec, Reply: "OK"}), want: "mutual-exclusion×2"},
	// b's SET, and its HSET, wrote over a's value: b's DEL removed what b had set.
	{name: "removed its own, which it had written over another's", head: leased, ops: `
		a acquire 10 12 ok
		b acquire 10 13 ok
		a release 61 62 not_held
		b release 60 63 ok`, extra: commands(
		history.Command{Client: "a", Name: "SET", Args: []string{"k", "a"}, Sent: 10 * msec, Replied: 11 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "b"}, Sent: 12 * msec, Replied: 13 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "DEL", Args: []string{"k"}, Sent: 62 * msec, Replied: 63 * msec, Reply: "1"}), want: "mutual-exclusion×1"},
	{name: "removed its own field, which it had written over another's", head: leased, ops: `
		a acquire 10 12 ok
		b acquire 10 13 ok
		a release 61 62 not_held
		b release 60 63 ok`, extra: commands(
		history.Command{Client: "a", Name: "HSETNX", Args: []string{"k", "owner", "a"}, Sent: 10 * msec, Replied: 11 * msec, Reply: "1"},
		history.Command{Client: "b", Name: "HSET", Args: []string{"k", "owner", "b"}, Sent: 12 * msec, Replied: 13 * msec, Reply: "0"},
		history.Command{Client: "b", Name: "DEL", Args: []string{"k"}, Sent: 62 * msec, Replied: 63 * msec, Reply: "1"}), want: "mutual-exclusion×1"},
	// Both had set the same value, which is the mark of both.
	{name: "removed a mark that both had set", head: leased, ops: `
		a acquire 10 12 ok
		b acquire 10 13 ok
		a release 61 62 not_held
		b release 60 63 ok`, extra: commands(
		history.Command{Client: "a", Name: "SET", Args: []string{"k", "1"}, Sent: 10 * msec, Replied: 11 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "1"}, Sent: 12 * msec, Replied: 13 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "DEL", Args: []string{"k"}, Sent: 62 * msec, Replied: 63 * msec, Reply: "1"}), want: "mutual-exclusion×1 release-safety×1"},
	// Each had a field of its own, and b's DEL removed both.
	{name: "removed another's field beside its own", head: leased, ops: `
		a acquire 10 12 ok
		b acquire 10 13 ok
		a release 61 62 not_held
		b release 60 63 ok`, extra: commands(
		history.Command{Client: "a", Name: "HSETNX", Args: []string{"k", "a", "1"}, Sent: 10 * msec, Replied: 11 * msec, Reply: "1"},
		history.Command{Client: "b", Name: "HSET", Args: []string{"k", "b", "1"}, Sent: 12 * msec, Replied: 13 * msec, Reply: "1"},
		history.Command{Client: "b", Name: "DEL", Args: []string{"k"}, Sent: 62 * msec, Replied: 63 * msec, Reply: "1"}), want: "mutual-exclusion×1 release-safety×1"},
	// a's grant ended b's hold. The extend, wrongly accepted, may have made that again, and so it may refuse b's next.
	{name: "refused by its client's own, which an extend made again after another's grant", head: history.Header{Kind: history.RW, Lease: msec, Drift: msec, Votes: true}, ops: `
		b acquire 2 2 ok shared token=b
		a acquire 3 4 ok token=a
		b extend 5 8 ok token=b
		b acquire 10 10 busy`, want: "release-safety×1"},
	// The token says that the extend means the first hold, which had ended, and not the one that was being granted.
	{name: "an extend of an older hold beside a grant without a token", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: msec}, ops: `
		b acquire 3 8 ok until=4 fence=3 token=b
		c acquire 0 2 ok until=1 fence=1 token=c
		a acquire 6 6 ok until=7 fence=3 token=a
		c extend 6 10 ok token=c
		c acquire 8 11 ok until=9 fence=4`, want: "release-safety×1 fencing-order×1"},
	// Both of a's holds had ended: the late extend made one of them again, whichever it was.
	{name: "refused by one of two holds, which an extend made again", head: history.Header{Kind: history.RW, Lease: msec}, ops: `
		a acquire 2 2 ok shared until=3
		a acquire 3 3 ok until=4
		a extend 8 12 ok
		b acquire 9 9 busy shared`, want: "release-safety×1"},
	{name: "refused by its client's own, one of two, which an extend made again", head: history.Header{Kind: history.Mutex, Lease: msec}, ops: `
		b acquire 3 3 ok fence=1
		b acquire 4 7 ok fence=3
		b extend 13 14 ok
		b acquire 15 16 busy`, want: "release-safety×1"},
	// The token says which hold is meant, whatever mode the extend states: the first, which had ended.
	{name: "an extend of an older hold, stating another mode", head: history.Header{Kind: history.RW, Lease: 5 * msec}, ops: `
		a acquire 6 8 ok token=a1
		a acquire 15 17 ok
		a extend 19 21 ok shared token=a1`, want: "release-safety×1"},
	// Its token says nothing of the release: the grant that returned it came later, and the acquire of unknown outcome may have had it too.
	{name: "a release after an acquire of unknown outcome, by a token that is granted later", head: history.Header{Kind: history.Reentrant}, ops: `
		b acquire 0 1 unknown
		a acquire 1 3 ok
		b release 3 5 ok token=tb
		b acquire 7 8 ok token=tb`, want: "mutual-exclusion×1"},
	// That a's belief resumes is no grant to a: b extends the hold that it was granted.
	{name: "an extend after another's that came too late", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 102 103 ok
		a extend 104 105 ok
		b extend 110 111 ok`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "a release of another's hold", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 130 131 not_held`, want: "release-safety×1"},
	{name: "a release of another's hold that the next grant shows", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		c acquire 122 123 ok`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "accepted, and the other's hold was left alone", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 130 131 ok`},
	{name: "accepted, and the other's lease may have ended since", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 211 212 not_held`},
	{name: "a late release that is refused", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 not_held
		b release 130 131 ok`},
	{name: "a late release of a free lock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 112 113 ok
		a release 120 121 ok`},
	{name: "two holds and an honest release", rule: "belief-overlap", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok
		b release 4 5 ok
		a release 6 7 ok`, want: "mutual-exclusion×1"},
	{name: "compared, then deleted too late", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 105 110 ok
		a release 90 121 ok
		b release 130 131 ok`, extra: commands(
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "tb"}, Sent: 106 * msec, Replied: 109 * msec, Reply: "OK"},
		history.Command{Client: "a", Name: "GET", Args: []string{"k"}, Sent: 91 * msec, Replied: 92 * msec, Reply: "ta"},
		history.Command{Client: "a", Name: "DEL", Args: []string{"k"}, Sent: 115 * msec, Replied: 116 * msec, Reply: "1"}), want: "release-safety×1"},
	{name: "accepted, but nothing was removed", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 130 131 ok`, extra: commands(
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "tb"}, Sent: 110 * msec, Replied: 111 * msec, Reply: "OK"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "ta"}, Sent: 120 * msec, Replied: 121 * msec, Reply: "0"})},
	{name: "one of two permits, though only one may be given", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok
		a release 10 11 ok
		c acquire 12 13 ok`, extra: commands(
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k", "tb"}, Sent: 2 * msec, Replied: 3 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "ta"}, Sent: 10 * msec, Replied: 11 * msec, Reply: "1"}), want: "mutual-exclusion×2"},
	// Beside the commands only the search of executions, which knows none, blames a's release for b's loss.
	{name: "perhaps granted before the one that another's release removed", head: leased, opt: Options{Plain: true}, ops: `
		a acquire 0 10 ok
		b acquire 0 11 ok
		a release 20 21 ok
		b release 30 31 not_held`, extra: commands(
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k", "tb"}, Sent: 4 * msec, Replied: 11 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k", "ta"}, Sent: 5 * msec, Replied: 10 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "ta"}, Sent: 20 * msec, Replied: 21 * msec, Reply: "1"}), want: "mutual-exclusion×1"},
	{name: "set after another had found the key free, and removed by the other's release", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 10 ok
		b acquire 0 11 ok
		a release 20 21 ok
		b release 30 31 ok`, extra: commands(
		history.Command{Client: "a", Name: "SET", Args: []string{"k", "ta"}, Sent: 4 * msec, Replied: 5 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "SET", Args: []string{"k", "tb"}, Sent: 6 * msec, Replied: 11 * msec, Reply: "OK"},
		history.Command{Client: "a", Name: "DEL", Args: []string{"k"}, Sent: 20 * msec, Replied: 21 * msec, Reply: "1"}), want: "mutual-exclusion×1 release-safety×1"},
	{name: "removed its own, which another had renewed", head: leased, ops: `
		a acquire 0 1 ok
		a extend 60 126 ok
		b acquire 110 111 ok
		b release 150 151 ok
		a release 155 156 not_held`, opt: Options{Plain: true}, extra: commands(
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k", "tb"}, Sent: 110 * msec, Replied: 111 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"renew.lua", "1", "k", "ta"}, Sent: 125 * msec, Replied: 126 * msec, Reply: "1"},
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "tb"}, Sent: 150 * msec, Replied: 151 * msec, Reply: "1"}), want: "mutual-exclusion×1"},
	{name: "removed what took its place after its lease", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		c acquire 122 123 ok`, extra: commands(
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire.lua", "1", "k", "tb"}, Sent: 110 * msec, Replied: 111 * msec, Reply: "1"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "ta"}, Sent: 120 * msec, Replied: 121 * msec, Reply: "1"}), want: "mutual-exclusion×1 release-safety×1"},
	{name: "removed on the node that lost the failover", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 130 131 ok`, extra: commands(
		history.Command{Client: "b", Node: 1, Name: "SET", Args: []string{"k", "tb"}, Sent: 110 * msec, Replied: 111 * msec, Reply: "OK"},
		history.Command{Client: "a", Node: 0, Name: "EVALSHA", Args: []string{"release.lua", "1", "k", "ta"}, Sent: 120 * msec, Replied: 121 * msec, Reply: "1"})},
	{name: "of three keys, removed one that the next holder has not taken", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 50 110 ok
		a release 100 130 ok`, extra: commands(
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire", "1", "k:0", "tb"}, Sent: 102 * msec, Replied: 103 * msec, Reply: "OK"},
		history.Command{Client: "b", Name: "EVALSHA", Args: []string{"acquire", "1", "k:1", "tb"}, Sent: 104 * msec, Replied: 105 * msec, Reply: "OK"},
		history.Command{Client: "a", Name: "EVALSHA", Args: []string{"release", "1", "k:2", "ta"}, Sent: 120 * msec, Replied: 121 * msec, Reply: "1"})},
	{name: "removed on a node that the next holder was given and gave back before", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 50 110 ok
		a release 90 130 ok`, extra: commands(
		history.Command{Client: "b", Node: 1, Name: "SET", Args: []string{"k", "tb"}, Sent: 51 * msec, Replied: 52 * msec, Reply: "OK"},
		history.Command{Client: "b", Node: 1, Name: "EVALSHA", Args: []string{"release", "1", "k", "tb"}, Sent: 53 * msec, Replied: 54 * msec, Reply: "1"},
		history.Command{Client: "b", Node: 1, Name: "SET", Args: []string{"k", "tb"}, Sent: 105 * msec, Replied: 106 * msec, Reply: "(nil)"},
		history.Command{Client: "b", Node: 2, Name: "SET", Args: []string{"k", "tb"}, Sent: 105 * msec, Replied: 106 * msec, Reply: "OK"},
		history.Command{Client: "a", Node: 1, Name: "EVAL", Args: []string{"release", "1", "k", "ta"}, Sent: 120 * msec, Replied: 121 * msec, Reply: "1"})},
	{name: "a reader removes the mark of all", rule: "mis-unlock", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		b acquire 2 3 ok shared
		a release 4 5 ok shared
		b release 6 7 ok shared`, extra: commands(
		history.Command{Client: "a", Name: "SET", Args: []string{"k:read", "1"}, Sent: 0, Replied: msec, Reply: "OK"},
		history.Command{Client: "b", Name: "SET", Args: []string{"k:read", "1"}, Sent: 2 * msec, Replied: 3 * msec, Reply: "OK"},
		history.Command{Client: "a", Name: "DEL", Args: []string{"k:read"}, Sent: 4 * msec, Replied: 5 * msec, Reply: "1"}), want: "release-safety×1"},
	{name: "an extend while its client is granted again", head: history.Header{Kind: history.Reentrant, Lease: 100 * msec}, opt: Options{Plain: true}, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 115 116 ok
		a acquire 117 119 ok
		a extend 118 126 ok`},
	{name: "an extend before its client is granted again", rule: "mis-unlock", head: history.Header{Kind: history.Reentrant, Lease: 100 * msec}, opt: Options{Plain: true}, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 115 116 ok
		a extend 118 119 ok
		a acquire 120 125 ok`, want: "release-safety×1"},
	// Four acquires without an answer leave many orders to try: none of them explains that a's hold was extended and gone within 2 ms.
	{name: "said to be gone, among unknown acquires", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
		a acquire 10 12 ok
		d acquire 11 12 unknown
		c acquire 11 11.9 unknown
		d acquire 13 14.9 unknown
		c acquire 13.9 14.9 busy
		b acquire 14.4 16.5 ok
		a extend 14.5 15.5 ok
		c acquire 14.9 16.4 busy
		d acquire 15.4 16.6 unknown
		a release 15.5 16.4 not_held`, unordered: true},
	{name: "an extend under way when its hold began", head: forever, ops: `
		a acquire 11 11.5 ok
		a extend 10.5 13 ok`},
	{name: "an extend that was answered before its hold began", rule: "mis-unlock", head: forever, ops: `
		a extend 9 10 ok
		a acquire 11 12 ok`, want: "release-safety×1 renewal×1"},
	// A client does one thing after the other: the release was answered before the acquire was called, though at one instant.
	{name: "a release that returned when its client asked for the hold with its token", head: history.Header{Kind: history.Reentrant}, ops: `
		w acquire 8 9 ok
		c release 10 12 ok token=x
		c acquire 12 14 ok token=x`, want: "mutual-exclusion×1 release-safety×1 reentrancy×1"},
	{name: "a release that took no time, before its client asked at the same instant", rule: "mis-unlock", head: leasedAs(history.RW), ops: `
		c acquire 4 8 ok
		b release 8 8 ok token=x
		b acquire 8 15 unknown shared
		b acquire 15 18 ok shared token=y`, want: "mutual-exclusion×1 release-safety×1"},
	// Of two that took no time the acquire comes first.
	{name: "a release at the instant of an acquire of unknown outcome", head: leasedAs(history.RW), ops: `
		c acquire 4 8 ok
		b acquire 8 8 unknown shared
		b release 8 8 ok token=x
		b acquire 15 18 ok shared token=y`, want: "mutual-exclusion×1"},
	// The node restarted after a's lease had ended, and was up again before b was granted: there was nothing to restore.
	{name: "a release of another's hold, after a restart that came after the lease", rule: "mis-unlock", head: leased, ops: releaseAfterLease, extra: hitFrom(faultKillServer, 110, 115), want: "release-safety×1"},
	// It restarted while the lease ran: what it kept may have been older, with an end that is later by its clock.
	{name: "a release of another's hold, after a restart while the lease ran", head: leased, ops: releaseAfterLease, extra: hitFrom(faultKillServer, 50, 60)},
	{name: "a release of another's hold during a partition", head: leased, ops: releaseAfterLease, extra: hitFrom(faultPartition, 159, 170)},
	// Messages of a slow network arrive, and excuse nothing.
	{name: "a release of another's hold on a slow network", rule: "mis-unlock", head: leased, ops: releaseAfterLease, extra: hitFrom(faultSlowNetwork, 0, 170), want: "release-safety×1"},
	// A clock that was set back made the lease longer, also after it had ended by true time.
	{name: "a release of another's hold, after a clock ran slow", head: leased, ops: releaseAfterLease, extra: hitFrom(faultDriftClock, 110, 115)},
	// It runs at another rate only when all leases are over.
	{name: "a release of another's hold, before a clock ran slow", rule: "mis-unlock", head: leased, ops: releaseAfterLease, extra: hitFrom(faultDriftClock, 870, 900), want: "release-safety×1"},
	// a's hold was said to be gone while its lease ran: a restart with older data may have brought it back.
	{name: "an extend of what was said to be gone, after a restart", head: leased, ops: `
		a acquire 0 1 ok
		a extend 20 21 not_held
		a extend 60 61 ok`, extra: hitFrom(faultKillServer, 30, 40), want: "renewal×1"},
	// The first may have come before the reply, at the instant at which that returned. The second came after it: if the first made the hold again, that one is to blame.
	{name: "two extends at once of what was said to be gone", rule: "mis-unlock", head: forever, ops: `
		a acquire 0 1 ok token=x
		a extend 3 4 not_held token=x
		a extend 4 8 ok token=x
		a extend 5 6 ok token=x`, want: "release-safety×1 renewal×1"},
	// Here the second belongs to the hold that the first began.
	{name: "two extends at once of what was said to be gone, the first to return called at that instant", head: forever, ops: `
		a acquire 0 1 ok token=x
		a extend 5 7 not_held token=x
		a extend 7 13 ok token=x
		a extend 12 14 ok token=x`, want: "renewal×1"},
	// The release came to the server at 12, when it was that of the outer hold, and renewed the inner one. The loss that was told is what can't be.
	{name: "an extend after a late release of the outer hold", head: history.Header{Kind: history.Reentrant, Lease: 3 * msec}, ops: `
		a acquire 0 3 ok until=3
		a release 4 7 unknown
		a acquire 7 8 ok until=10
		a extend 11 15 lost
		a extend 14 15 ok`, want: "renewal×1"},
	// When it entered again, the server had kept no hold of it: the release found none.
	{name: "an extend after a late release of a hold that was over", rule: "mis-unlock", head: history.Header{Kind: history.Reentrant, Lease: 3 * msec}, ops: `
		a acquire 0 1 ok
		a release 2 3 unknown
		a acquire 7 8 ok
		a extend 14 15 ok`, want: "release-safety×1"},
}

// releaseAfterLease is a's release of b's hold, long after a's own lease.
const releaseAfterLease = `
	a acquire 0 1 ok
	b acquire 120 121 ok
	a release 160 161 ok
	b release 170 171 not_held`

// hitFrom is the record of a fault of the server; from and to are in milliseconds.
func hitFrom(fault string, from, to int64) Input {
	return Input{Faults: []history.Window{{Fault: fault, Start: from * msec, End: to * msec, Confirmed: true}}}
}
