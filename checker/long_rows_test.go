package checker

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestLongAsShort are records that break the same alone, where all is searched at once, as among so many other operations that only what is near each
// is searched.
func TestLongAsShort(t *testing.T) {
	lease := func(k history.Kind) history.Header { return history.Header{Kind: k, Lease: 10_000 * msec} }
	exact := func(h history.Header, error int64) history.Header { h.ClockError = error; return h }
	for _, row := range []struct {
		name string
		head history.Header
		ops  string
		want string
	}{
		// c4 was granted fence 4 long after c2 had got fence 5, though it had begun to wait before.
		{"a smaller fence of a try that was asked late", exact(lease(history.Mutex), 10*msec), `
			c2 acquire 0 100 ok fence=5
			c4 acquire 50 900 ok asked=800 fence=4
			c2 release 500 600 ok`, "linearizability fencing-order"},
		// Either the release had no effect and c0's grant is wrong, or it had and the refusal is.
		{"a refusal after a release of unknown outcome and a grant", lease(history.Mutex), `
			c2 acquire 0 100 ok
			c2 release 500 600 unknown
			c0 acquire 550 700 ok
			c0 release 800 900 ok
			c2 acquire 1000 1100 busy`, "linearizability"},
		{"an extend after a reply that the hold is gone", lease(history.Mutex), `
			c acquire 0 100 ok token=a
			c extend 5000 5100 not_held token=a
			c extend 6000 6100 ok token=a`, "release-safety linearizability renewal"},
		// The extend cannot have had an effect.
		{"gone after the first lease, in spite of an extend", lease(history.Mutex), `
			c acquire 0 100 ok token=a
			c extend 8000 8100 ok token=a
			c release 11000 11100 not_held token=a`, "release-safety linearizability"},
		// d's hold was there until its own release asked for it.
		{"a late release ends a hold whose own release overlaps it", lease(history.Reentrant), `
			c acquire 0 100 ok token=a
			d acquire 12000 12100 ok token=b
			c release 14000 14100 ok token=a
			d release 14050 15100 not_held token=b`, "release-safety linearizability reentrancy"},
		// The release of 41000 ended the hold with fence 4, and not the first, which another had closed.
		{"an equal fence after a release", lease(history.Reentrant), `
			c acquire 0 100 ok fence=1
			c release 30000 30100 not_held
			c acquire 40000 40100 ok fence=4
			c release 41000 41100 ok
			c acquire 42000 42100 ok fence=4`, "linearizability fencing-order"},
		{"two at once whose fences have an order", lease(history.Mutex), `
			c acquire 0 500 ok fence=1
			d acquire 100 400 ok fence=2`, "mutual-exclusion linearizability"},
		{"a refusal after another's release ended the hold", exact(lease(history.Mutex), 100*msec), `
			c acquire 0 100 ok token=a
			d release 3000 3100 ok token=d
			c release 4000 4100 not_held token=a
			e acquire 5000 5100 busy`, "release-safety linearizability refusal"},
		// The release that was called as the first acquire returned closed that hold.
		{"gone at once after a hold that was left at once", lease(history.Mutex), `
			c acquire 0 100 ok
			c release 100 200 ok
			c acquire 30000 30100 ok
			c extend 33000 33100 not_held`, "linearizability renewal"},
		{"a stranger's release ends a re-entrant hold", lease(history.Reentrant), `
			c acquire 0 100 ok token=a
			d release 3000 3100 ok token=d
			c release 4000 4100 not_held token=a`, "release-safety linearizability reentrancy"},
		// d cannot have been granted anything.
		{"an extend beside another's hold, and a refused re-entry of that", lease(history.Reentrant), `
			c acquire 0 100 ok token=a
			d acquire 4000 4100 unknown
			c acquire 5000 5100 busy
			d extend 6000 6100 ok token=d`, "release-safety linearizability reentrancy"},
		// One of two permits is free, whatever the acquire of unknown outcome did.
		{"refused beside an acquire of unknown outcome", history.Header{Kind: history.Semaphore, Lease: 10_000 * msec, Permits: 2}, `
			c acquire 0 1000 ok token=a
			d acquire 1500 2500 ok token=b
			d release 2500 3500 ok token=b
			c release 5000 6000 ok token=a
			c acquire 6500 7500 unknown
			e acquire 9500 10500 busy`, "linearizability refusal"},
		// The release may mean the first hold, so that the second is there. That one should not have been granted.
		{"refused by one of two holds without tokens", lease(history.Mutex), `
			c acquire 0 200 ok
			c acquire 4600 9200 ok
			c release 9200 9300 ok
			d acquire 10800 10900 busy`, "linearizability"},
		{"refused when both readers were gone", lease(history.RW), `
			x acquire 0 100 ok shared
			c acquire 4000 4100 ok shared
			c release 4100 4200 ok shared
			d acquire 12000 12100 busy`, "linearizability refusal"},
		// Fence 7 came while c1 waited, fence 6 long before.
		{"a fence that goes back, by more than the clock error", exact(lease(history.Reentrant), 1), `
			c0 acquire 0 1 ok fence=6
			c0 release 2 3 ok
			c1 acquire 20000 90000 ok fence=1
			c2 acquire 50000 50010 ok fence=7
			c2 release 50020 50030 ok`, "linearizability fencing-order"},
		// c4's lease was renewed at 4600.
		{"a late release ends a hold that was extended", lease(history.Semaphore), `
			c3 acquire -10000 -9900 ok token=a
			c4 acquire 1000 1100 ok token=b
			c4 extend 4600 4700 ok token=b
			c3 release 9000 9100 ok token=a
			c4 release 12000 12100 not_held token=b`, "release-safety linearizability"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, long := range []bool{false, true} {
				ops := parse(t, row.ops)
				if long {
					ops = Lengthened(slices.Clone(ops))
				}
				if got := failing(verdictOf(t, Input{Header: row.head}, ops, Options{})); got != row.want {
					t.Errorf("%q fail, want %q; long: %v", got, row.want, long)
				}
			}
		})
	}
}
