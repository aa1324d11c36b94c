package beyond

import (
	"embed"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family.
func Variants() []impls.Variant {
	return []impls.Variant{
		fenced().variant(impls.Variant{
			Name: "fenced", Summary: "A token with a lease and a fence from a counter, in one script; the store refuses lower fences.",
			Kind: history.Mutex, Traits: impls.Traits{Fenced: true},
			Claims: []impls.Claim{
				{Text: "No client fault damages a store that compares fences.", Holds: true, Command: impls.Command("fenced", "pause-holder")},
				{Text: "A server that loses its data keeps the order of fences.", Holds: false, Command: impls.Command("fenced", "kill-server")},
			},
			Expect: waking(guarded()).With(expect.Table{"late-write": verdicts.Breaks(overrun)}),
		}),
		rwLease().variant(impls.Variant{
			Name: "rw-lease", Summary: "A lease for every reader in a sorted set by the server's time, a key for the writer, claims of waiting writers that keep new readers out, fences.",
			Kind: history.RW, Traits: impls.Traits{Fenced: true, Shared: true, WritersFirst: true},
			Claims: []impls.Claim{
				{Text: "A reader's release ends only its own hold.", Holds: true, Command: impls.Command("rw-lease", "contended") + " --workload read-mostly"},
				{Text: "A dead reader keeps writers out for a lease at the most, though others go on reading.", Holds: true, Command: impls.Command("rw-lease", "crash-holder") + " --workload read-mostly"},
				{Text: "A steady stream of readers does not keep a writer out.", Holds: true, Command: impls.Command("rw-lease", "steady") + " --workload read-mostly"},
				{Text: "A steady stream of writers does not keep a reader out.", Holds: false, Command: impls.Command("rw-lease", "contended") + " --workload read-mostly"},
			},
			Expect: waking(guarded()).With(expect.Shares()),
		}),
		fair().variant(impls.Variant{
			Name: "fair", Summary: "As fenced, with a queue of waiters, each with a lease by the server's time; a release wakes only the first.",
			Kind: history.Mutex, Traits: impls.Traits{Fenced: true, FIFO: true},
			Claims: []impls.Claim{
				{Text: "Waiters are granted in the order in which they came.", Holds: true, Command: impls.Command("fair", "contended")},
				{Text: "A dead waiter at the head holds the others up for a lease at the most.", Holds: true, Command: impls.Command("fair", "crash-waiter")},
				{Text: "A waiter that gives up leaves no place behind.", Holds: true, Command: impls.Command("fair", "cancel-acquire")},
			},
			Expect: waking(guarded()).With(expect.Table{"crash-queue": verdicts.Safe()}),
		}),
		handoff().variant(impls.Variant{
			Name: "handoff", Summary: "As fair; the script of a release also grants the lock to the first waiter, and tells it through the list on which it blocks.",
			Kind: history.Mutex, Traits: impls.Traits{Fenced: true, FIFO: true, FromAsking: true},
			Claims: []impls.Claim{
				{Text: "Waiters are granted in the order in which they came.", Holds: true, Command: impls.Command("handoff", "contended")},
				{Text: "A dead waiter at the head holds the others up for a lease at the most.", Holds: true, Command: impls.Command("handoff", "crash-waiter")},
				{Text: "A waiter that gives up leaves no place behind, and no lock that was granted to it meanwhile.", Holds: true, Command: impls.Command("handoff", "cancel-acquire")},
			},
			Expect: waking(guarded()).With(expect.Table{
				"crash-queue": verdicts.Safe(),
				"pubsub-cut":  verdicts.NotApplicable("waiters block on lists: there is no subscription to cut"),
			}),
			Derives: waiterLists{},
		}),
		semaphore().variant(impls.Variant{
			Name: "semaphore", Summary: "n permits in a sorted set, each with a lease by the server's time.",
			Kind: history.Semaphore, Traits: impls.Traits{Permits: true},
			Claims: []impls.Claim{
				{Text: "There are never more holders than permits.", Holds: true, Command: impls.Command("semaphore", "several-permits")},
				{Text: "The permit of a dead holder comes back once, after its lease.", Holds: true, Command: impls.Command("semaphore", "crash-holder")},
			},
			Expect: waking(counted()).With(expect.Counts()),
		}),
	}
}

// variant adds to a variant what all of the family have.
func (p protocol) variant(v impls.Variant) impls.Variant {
	can := &v.Traits
	can.UniqueToken, can.Validity, can.LooksTwice, can.Extends, can.Wakeups, can.Repeatable = true, true, true, true, true, true
	v.Topology, v.Source = impls.Standalone, impls.Source{Article: "lockbench", Where: "beyond the sources"}
	for _, s := range []*impls.Script{p.take[0], p.take[1], p.renew[0], p.renew[1], p.end[0], p.end[1], p.withdraw} {
		if s != nil && !slices.Contains(v.Scripts, s) {
			v.Scripts = append(v.Scripts, s)
		}
	}
	v.New = impls.Leased(p.open)
	return v
}
