package checker

import "github.com/lockbench/lockbench/history"

func rows() []row {
	var all []row
	all = append(all, exclusionRows...)
	all = append(all, storeRows...)
	all = append(all, releaseRows...)
	all = append(all, fenceRows...)
	all = append(all, waitRows...)
	all = append(all, reentrantRows...)
	all = append(all, turnRows...)
	return append(all, renewalRows...)
}

// crashOf is the record of a client's end.
func crashOf(client string, at int64) Input {
	return Input{Faults: []history.Window{{Fault: faultCrashClient, Client: client, Start: at, Confirmed: true}}}
}

var exclusionRows = []row{
	{name: "one after the other", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 0 4 ok
		a release 3 5 ok
		b release 6 7 ok`},
	{name: "touching is no overlap", head: forever, ops: `
		a acquire 0 1 ok
		a release 4 5 ok
		b acquire 2 4 ok`},
	{name: "two beliefs overlap", rule: "belief-overlap", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 0 2 ok
		a release 3 5 ok
		b release 6 7 ok`, want: "mutual-exclusion×1"},
	{name: "a client is granted twice", rule: "belief-overlap", head: forever, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok`, want: "mutual-exclusion×1"},
	{name: "a lease ends a belief", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 90 101 ok`},
	{name: "a grant before the lease has ended", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 90 99 ok`, want: "mutual-exclusion×1"},
	{name: "drift is taken off", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Drift: 2 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 90 99 ok`},
	{name: "what the lock says counts", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok until=150
		b acquire 90 120 ok`, want: "mutual-exclusion×1"},
	{name: "until told, and never told", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok until=told
		b acquire 500 501 ok`, want: "mutual-exclusion×1"},
	{name: "until told, and told in time", head: leased, ops: `
		a acquire 0 1 ok until=told
		a lost 400 400
		b acquire 500 501 ok`},
	{name: "an extend in time", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok
		a extend 50 51 ok
		b acquire 110 120 ok`, want: "mutual-exclusion×1"},
	{name: "an extend that comes too late leaves a gap", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 112 113 ok
		a extend 120 121 ok`},
	{name: "an extend that comes too late starts a belief", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a extend 120 121 ok
		b release 130 131 ok`, want: "mutual-exclusion×1 renewal×1"},
	{name: "an extend answered lost ends the belief", head: leased, extra: Input{Faults: []history.Window{{Fault: "delete-key", Start: 1, End: 2}}}, ops: `
		a acquire 0 1 ok
		a extend 50 51 lost
		b acquire 60 61 ok`},
	{name: "an extend that returns after the release was called", head: leased, ops: `
		a acquire 0 1 ok
		a extend 98 105 ok
		a release 102 106 ok
		b acquire 101 103 ok
		b release 110 111 ok`},
	{name: "an unknown release ends the belief when called", head: forever, ops: `
		a acquire 0 1 ok
		a release 4 9 unknown
		b acquire 2 4 ok`},
	{name: "an unknown acquire is no belief", head: forever, ops: `
		a acquire 0 1 unknown
		b acquire 2 3 ok`},
	{name: "within the clock error", rule: "clock-error", head: history.Header{Kind: history.Mutex, ClockError: 2 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 0 9 ok
		a release 10 11 ok
		b release 12 13 ok`},
	{name: "beyond the clock error", rule: "belief-overlap", head: history.Header{Kind: history.Mutex, ClockError: 2 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 0 7 ok
		a release 10 11 ok
		b release 12 13 ok`, want: "mutual-exclusion×1"},
	{name: "keys are apart", head: forever, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok key=k2
		a release 4 5 ok
		a acquire 6 7 ok
		b acquire 8 9 ok key=k3`},
	{name: "readers share", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		b acquire 2 3 ok shared
		a release 4 5 ok shared
		b release 6 7 ok shared
		c acquire 0 8 ok`},
	{name: "a writer among readers", rule: "belief-overlap", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		b acquire 2 3 ok shared
		a release 4 5 ok shared
		c acquire 0 5 ok
		b release 6 7 ok shared
		c release 8 9 ok`, want: "mutual-exclusion×1"},
	{name: "a reader beside a writer", rule: "belief-overlap", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok shared`, want: "mutual-exclusion×1"},
	{name: "two permits", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok
		a release 4 5 ok
		c acquire 4 5 ok`},
	{name: "a third of two permits", rule: "belief-overlap", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok
		c acquire 4 5 ok`, want: "mutual-exclusion×1"},
	{name: "sections overlap after the lease", rule: "use-overlap", head: leased, ops: `
		a acquire 0 1 ok
		a use 2 150
		b acquire 110 111 ok
		b use 112 120
		b release 121 122 ok
		a release 151 152 not_held`, want: "exclusive-use×1"},
	{name: "readers' sections overlap", head: history.Header{Kind: history.RW}, ops: `
		a acquire 0 1 ok shared
		a use 2 9 shared
		b acquire 2 3 ok shared
		b use 4 6 shared`},
}

var storeRows = []row{
	{name: "a chain of updates", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 ok read=1 wrote=2`},
	{name: "an update is lost", rule: "lost-update", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 ok read=0 wrote=1`, want: "store-integrity×1"},
	{name: "concurrent writes that chain", head: forever, ops: `
		a write 0 9 ok read=1 wrote=2
		b write 1 3 ok read=0 wrote=1`, opt: Options{Store: map[string]StoreEnds{"k": {Initial: new(int64)}}}},
	{name: "an unknown write that happened", rule: "unknown-write", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 unknown read=1 wrote=2
		c write 4 5 ok read=2 wrote=3`},
	{name: "two unknown writes in a row that happened", rule: "unknown-write", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 unknown read=1 wrote=2
		c write 4 5 unknown read=2 wrote=3
		c write 6 7 ok read=3 wrote=4`},
	{name: "an unknown write that did not happen", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 unknown read=1 wrote=2
		c write 4 5 ok read=1 wrote=2`},
	{name: "the store ends with another value", rule: "final-value", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 ok read=1 wrote=2`, opt: Options{Store: map[string]StoreEnds{"k": {Final: new(int64)}}}, want: "store-integrity×1"},
	{name: "a rejected write has no effect", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 rejected read=0 wrote=1
		c write 4 5 ok read=1 wrote=2`},
	{name: "a stale write is accepted", rule: "stale-write", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 112 113 ok
		a write 120 121 ok
		a release 122 123 not_held`, want: "store-integrity×1"},
	{name: "a late write that met nobody", head: leased, ops: `
		a acquire 0 1 ok
		a write 120 121 ok
		b acquire 130 131 ok
		b write 132 133 ok`},
	{name: "a lower fence is accepted", rule: "stale-fence", head: leased, ops: `
		a acquire 0 1 ok fence=1
		b acquire 110 111 ok fence=2
		b write 112 113 ok fence=2
		b release 114 115 ok
		a write 120 121 ok fence=1`, want: "store-integrity×1"},
	{name: "a lower fence before the store has seen the higher", head: leased, ops: `
		a acquire 0 1 ok fence=1
		b acquire 110 111 ok fence=2
		a write 112 113 ok fence=1
		b write 114 115 ok fence=2`},
}

func commands(list ...history.Command) Input { return Input{Commands: list} }

var releaseRows = []row{
	{name: "a release of another's hold", rule: "mis-unlock", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a release 120 121 ok
		b release 130 131 ok`, want: "release-safety×1"},
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
}

var fenceRows = []row{
	{name: "fences grow", head: forever, ops: `
		a acquire 0 1 ok fence=1
		a release 2 3 ok
		b acquire 4 5 ok fence=7`},
	{name: "a fence goes back", rule: "fence-order", head: forever, ops: `
		a acquire 0 1 ok fence=7
		a release 2 3 ok
		b acquire 4 5 ok fence=3`, want: "fencing-order×1"},
	{name: "a fence goes back while grants wait", rule: "fence-order", head: forever, ops: `
		b acquire 0 5 ok fence=3
		a acquire 0 1 ok fence=7
		a release 2 3 ok`, want: "fencing-order×1"},
	{name: "the order of two grants with leases is not certain", head: history.Header{Kind: history.Mutex, Lease: msec}, ops: `
		b acquire 0 5 ok fence=3
		a acquire 0 4 ok fence=7`},
	{name: "a fence twice", rule: "fence-twice", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		b acquire 0 5 ok fence=7
		a acquire 0 4 ok fence=7`, want: "fencing-order×1"},
}

var waitRows = []row{
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
		c acquire 30 31 busy`, want: "refusal×1"},
	{name: "refused by an unknown acquire", head: forever, ops: `
		a acquire 0 1 unknown
		b acquire 4 5 busy`},
	{name: "refused by an unknown acquire that cannot have been", rule: "busy-witness", head: forever, ops: `
		a acquire 0 1 unknown
		b acquire 4 5 busy
		b acquire 6 7 ok`, want: "refusal×1"},
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
	{name: "refused by another's attempt, where votes split", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, Votes: true}, ops: `
		a acquire 0 5 busy
		b acquire 2 4 busy`},
	{name: "refused by the request of a client that crashed", head: leased, extra: Input{Faults: []history.Window{{Fault: "crash-client", Client: "a", Start: 30 * msec, Confirmed: true}}}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 40 41 busy`},
	// The reply told a of a hold that had ended on the way; while it was under way, it held, and refused b.
	{name: "refused by a grant whose reply came after its lease", head: leased, ops: `
		a acquire 0 300 ok until=120
		b acquire 10 11 busy
		c acquire 150 160 ok`},
	// What a's library reports at the end of a wait that a did not live to see is nobody's wait.
	{name: "a dead client waits for nothing", head: leased, extra: crashOf("a", 400*msec), ops: `
		b acquire 0 1 ok
		b release 2 3 ok
		a acquire 4 1900 fail`},
	// a was to be told when its hold is lost, and died: from then on it believes nothing.
	{name: "the dead believe nothing", head: leased, extra: crashOf("a", 30*msec), ops: `
		a acquire 0 1 ok until=told
		b acquire 100 200 ok`},
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
	{name: "the server was down meanwhile", head: leased, extra: Input{Faults: []history.Window{{Fault: "kill-server", Start: 5 * msec, End: 900 * msec}}}, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 4 1200 fail`},
	{name: "granted long after it was free", rule: "late-grant", head: leased, ops: `
		a acquire 0 1 ok
		a release 2 3 ok
		b acquire 1 1200 ok`, want: "progress×1"},
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
}

var reentrant = history.Header{Kind: history.Reentrant, Lease: 100 * msec}

var reentrantRows = []row{
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
}

var renewalRows = []row{
	{name: "a healthy hold is reported lost", rule: "healthy-lost", head: leased, ops: `
		a acquire 0 1 ok
		a extend 50 51 lost`, want: "renewal×1"},
	{name: "an extend after the release", rule: "outlived-release", head: leased, ops: `
		a acquire 0 1 ok
		a release 10 11 ok
		a extend 20 21 ok`, want: "renewal×1"},
	{name: "an extend of the next hold, whose grant is not told yet", head: leased, ops: `
		a acquire 0 1 ok token=t1
		a release 10 11 ok token=t1
		a extend 20 21 ok token=t2
		a acquire 15 25 ok token=t2`},
	{name: "an extend of an entry whose release was not answered", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a release 4 5 unknown
		a release 6 7 ok
		a acquire 12 13 ok
		a release 14 15 ok
		a extend 20 21 ok`},
	{name: "an extend of an entry that was not answered", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 unknown
		a release 6 7 ok
		a extend 20 21 ok`},
	{name: "an extend of another's hold", rule: "renewed-another", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a extend 120 121 ok
		b release 130 131 ok`, want: "mutual-exclusion×1 renewal×1"},
	{name: "an extend of a lock that is free again", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 118 119 ok
		a extend 120 121 ok`},
	{name: "left behind", head: leased, opt: Options{Leftovers: []string{"key k"}}, want: "hygiene×1"},
	{name: "nothing left behind", head: leased, opt: Options{Leftovers: []string{}}},
}
