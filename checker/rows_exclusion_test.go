package checker

import "github.com/lockbench/lockbench/history"

// exclusionRows are about overlapping holds and overlapping critical sections.
var exclusionRows = []row{
	// The extend of 11 ms is answered before the acquire, whose lease had ended by then: the belief of a is from 12 to 13, when that of b is over.
	{name: "an extend that is answered before its acquire", head: history.Header{Kind: history.Mutex, Lease: 3 * msec, Drift: msec}, ops: `
		b acquire 4 6 ok until=11.5
		a acquire 8 12 ok token=ta
		a extend 11 11 ok token=ta until=13`},
	// The extend may mean the first acquire, whose token is not known, and means the second, which has its own: both are believed from 8 to 10.
	{name: "an extend under way at two acquires", rule: "belief-overlap", head: history.Header{Kind: history.Mutex, Lease: msec, ClockError: msec}, ops: `
		a acquire 4 6 ok until=10
		a extend 5 8 ok until=12 token=a
		a acquire 7 8 ok token=a`, want: "mutual-exclusion×1"},
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
		a extend 120 121 ok`, want: "release-safety×1"},
	{name: "an extend that comes too late starts a belief", rule: "belief-overlap", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		a extend 120 121 ok
		b release 130 131 ok`, want: "mutual-exclusion×1 release-safety×1"},
	{name: "an extend answered lost ends the belief", head: leased, extra: Input{Faults: []history.Window{{Fault: "delete-key", Start: 1, End: 2, Confirmed: true}}}, ops: `
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
	{name: "a reader's extend that comes too late starts a reader's belief", head: history.Header{Kind: history.RW, Lease: 100 * msec}, ops: `
		a acquire 0 1 ok shared
		b acquire 110 111 ok shared
		a extend 90 121 ok`},
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
	{name: "one holder too many takes the place of another", rule: "belief-overlap",
		head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec, ClockError: 2 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 2 3 ok
		c acquire 4 5 ok
		d acquire 6 6.5 ok
		a release 6.5 6.6 ok
		c release 8 8.5 ok`, want: "mutual-exclusion×1"},
	{name: "two uses of one permit overlap a third in turn, together for longer than the clock error",
		head: history.Header{Kind: history.Semaphore, Permits: 1, ClockError: 3 * msec}, ops: `
		b use 2 14
		a use 11 23
		a use 14 17`, want: "exclusive-use×1"},
	{name: "two critical sections of another mode in one hold", head: history.Header{Kind: history.Mutex}, ops: `
		a acquire 0 1 ok
		a use 3 6 shared
		a use 4 5 shared
		a release 7 8 ok`},
}
