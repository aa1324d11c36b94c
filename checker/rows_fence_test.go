package checker

import "github.com/lockbench/lockbench/history"

// fenceRows are about the order of the fences.
var fenceRows = []row{
	// The entry of unknown outcome may have begun a new hold, of which the last is a re-entry. The fence is that of a hold before.
	{name: "a re-entry repeats the fence of a hold that is gone", head: reentrant, ops: `
		a acquire 0 1 ok token=x fence=1
		a release 101 102 not_held token=x
		a acquire 110 111 unknown token=y
		a acquire 112 113 ok token=z fence=1`, want: "fencing-order×1"},
	{name: "a re-entry repeats the fence of its hold", head: reentrant, ops: `
		a acquire 0 1 ok token=x fence=1
		a acquire 2 3 unknown token=y
		a acquire 4 5 ok token=z fence=1`},
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
		a release 2 3 ok`, unordered: true}, // or the grants: b was first, and a was granted beside it
	{name: "the order of two grants with leases is not certain", head: history.Header{Kind: history.Mutex, Lease: msec}, ops: `
		b acquire 0 5 ok fence=3
		a acquire 0 4 ok fence=7`},
	{name: "a fence twice", rule: "fence-twice", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		b acquire 0 5 ok fence=7
		a acquire 0 4 ok fence=7`, want: "fencing-order×1"},
}
