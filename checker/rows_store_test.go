package checker

import "github.com/lockbench/lockbench/history"

// storeRows are about the writes that the guarded store accepted.
var storeRows = []row{
	// The clock error orders the operations of two clients, not those of one: what a comes to write later can't explain its second write.
	{name: "a chain broken by one client, before a write of unknown outcome", head: history.Header{Kind: history.Mutex, ClockError: 2 * msec}, ops: `
		a write 19 19 ok read=2 wrote=3
		a write 20 21 ok read=2 wrote=3
		a write 22 22 unknown read=3 wrote=2`, want: "store-integrity×1"},
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
	{name: "of two unknown writes of the value that was read, the one that read the value before it", rule: "unknown-write", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 unknown read=5 wrote=2
		c write 4 5 unknown read=1 wrote=2
		d write 6 7 ok read=2 wrote=3`},
	{name: "unknown writes in a row at the end, called in another order", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		c write 2 3 unknown read=2 wrote=3
		b write 4 5 unknown read=1 wrote=2`, opt: Options{Store: map[string]StoreEnds{"k": {Final: new(int64(3))}}}},
	{name: "an unknown write takes the store back at the end", rule: "final-value", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		c write 2 3 unknown read=0 wrote=1
		b write 4 5 ok read=1 wrote=2`, opt: Options{Store: map[string]StoreEnds{"k": {Final: new(int64(1))}}}, want: "store-integrity×1"},
	{name: "a write without recorded values may have stored what the next has read", head: forever, ops: `
		a write 0 1 ok read=0 wrote=1
		b write 2 3 ok
		c write 4 5 ok read=7 wrote=8`},
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
		b write 112 112.5 ok
		b release 112.5 113 ok
		a write 120 121 ok
		a release 122 123 not_held`, want: "store-integrity×1"},
	// A refused extend ends the belief; the write still belongs to that hold, which is gone.
	{name: "a write under a hold whose extend was refused, after a later hold's", rule: "stale-write", head: leased, ops: `
		a acquire 0 1 ok
		a extend 120 121 not_held
		b acquire 122 123 ok
		b write 124 125 ok read=0 wrote=1
		a write 130 131 ok read=1 wrote=2`, want: "store-integrity×1"},
	// The re-entry was asked for later than the outer hold, whose lease is over.
	{name: "a write under an outer hold that has ended, after one under a re-entry", rule: "stale-write", head: reentrant, ops: `
		a acquire 0 1 ok
		a acquire 2 3 ok
		a write 4 5 ok read=0 wrote=1
		a release 6 7 ok
		a write 300 301 ok read=1 wrote=2`, want: "store-integrity×1"},
	{name: "a late write beside a hold that has written nothing", head: leased, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b release 112 113 ok
		a write 120 121 ok
		a release 122 123 not_held`},
	{name: "a late write that met nobody", head: leased, ops: `
		a acquire 0 1 ok
		a write 120 121 ok
		b acquire 130 131 ok
		b write 132 133 ok`},
	{name: "a late write under one of several permits, which keep no writer out", head: history.Header{Kind: history.Semaphore, Permits: 2, Lease: 100 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 110 111 ok
		b write 112 112.5 ok
		b release 112.5 113 ok
		a write 120 121 ok`},
	{name: "a stale write after one of a client that had waited before", rule: "stale-write", head: history.Header{Kind: history.Mutex, Lease: 10 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 0 15 ok asked=14
		b write 16 17 ok
		a write 18 19 ok`, want: "store-integrity×1"},
	{name: "a late write whose hold may be the later one by the clock error", head: history.Header{Kind: history.Mutex, Lease: 100 * msec, ClockError: 20 * msec}, ops: `
		a acquire 0 1 ok
		b acquire 15 16 ok
		b write 17 18 ok
		b release 19 20 ok
		a write 130 131 ok`},
	{name: "a lower fence is accepted", rule: "stale-fence", head: leased, ops: `
		a acquire 0 1 ok fence=1
		a release 2 3 ok
		b acquire 0 11 ok fence=2
		b write 12 13 ok fence=2
		b release 14 15 ok
		a write 20 21 ok fence=1`, want: "store-integrity×1"},
	{name: "a lower fence before the store has seen the higher", head: leased, ops: `
		a acquire 0 1 ok fence=1
		b acquire 110 111 ok fence=2
		a write 112 113 ok fence=1
		b write 114 115 ok fence=2`},
	{name: "a fence that is too small by any clock, after one that may be the later write", rule: "stale-fence",
		head: history.Header{Kind: history.Mutex, ClockError: 2 * msec}, ops: `
		a write 4 6 ok fence=2 read=0 wrote=1
		a write 11 11 ok fence=3 read=1 wrote=2
		b write 13 14 ok fence=1 read=2 wrote=3`, want: "store-integrity×1"},
	{name: "a fence below an own one, after another's that may be the later write", rule: "stale-fence",
		head: history.Header{Kind: history.Mutex, ClockError: 20 * msec}, ops: `
		b write 4 6 ok fence=2 read=0 wrote=1
		a write 11 12 ok fence=3 read=1 wrote=2
		b write 13 14 ok fence=1 read=2 wrote=3`, want: "store-integrity×1"},
	{name: "writes at once whose only chain has the lower fence last", rule: "stale-fence", head: forever, ops: `
		a write 0 9 ok fence=2 read=0 wrote=1
		b write 1 8 ok fence=1 read=1 wrote=2`, want: "store-integrity×1"},
	{name: "writes at once whose only chain has the lower fence first", head: forever, ops: `
		a write 0 9 ok fence=1 read=0 wrote=1
		b write 1 8 ok fence=2 read=1 wrote=2
		c write 10 11 ok fence=2 read=2 wrote=3`},
	{name: "a lower fence after a write that took no time", rule: "stale-fence", head: forever, ops: `
		a write 5 5 ok fence=2
		a write 5 9 ok fence=1`, want: "store-integrity×1"},
	{name: "a lower fence that may be the earlier write by the clock error, beside a write under one of several permits",
		head: history.Header{Kind: history.Semaphore, Lease: 100 * msec, Permits: 2, ClockError: 2 * msec}, ops: `
		b acquire 0 2 ok
		b write 4 6 ok fence=2 read=0 wrote=1
		a write 7 7 ok fence=1 read=1 wrote=2`},
	{name: "a lower fence that may be the earlier write by the clock error, but has read the other's value",
		head: history.Header{Kind: history.Mutex, ClockError: 2 * msec}, ops: `
		a write 0 7 ok fence=3 read=0 wrote=1
		b write 8 12 ok fence=1 read=1 wrote=2`, want: "store-integrity×1"},
}
