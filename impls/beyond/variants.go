package beyond

import (
	"embed"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family.
func Variants() []impls.Variant {
	return []impls.Variant{fencedVariant(), rwLeaseVariant(), fairVariant(), handoffVariant(), semaphoreVariant()}
}

// traits are what all of the family can do.
func traits() impls.Traits {
	return impls.Traits{UniqueToken: true, Validity: true, LooksTwice: true, Extends: true, Wakeups: true, Repeatable: true}
}

func fencedVariant() impls.Variant {
	p, can := fenced(), traits()
	can.Fenced = true
	return impls.Variant{
		Name: "fenced", Summary: "A token with a lease and a fence from a counter, in one script; the store refuses lower fences.",
		Kind: history.Mutex, Topology: impls.Standalone, Traits: can, Scripts: p.scripts(),
		Source: impls.Source{Article: "lockbench", Where: "beyond the sources"},
		Claims: []impls.Claim{
			{Text: "No client fault damages a store that compares fences.", Holds: true, Command: impls.Command("fenced", "pause-holder")},
			{Text: "A server that loses its data keeps the order of fences.", Holds: false, Command: impls.Command("fenced", "kill-server")},
		},
		Expect: waking(guarded()).With(expect.Table{"late-write": verdicts.Breaks(overrun)}).Map(), New: p.open,
	}
}

func rwLeaseVariant() impls.Variant {
	p, can := rwLease(), traits()
	can.Fenced, can.Shared, can.WritersFirst = true, true, true
	return impls.Variant{
		Name: "rw-lease", Summary: "A lease for every reader in a sorted set by the server's time, a key for the writer, claims of waiting writers that keep new readers out, fences.",
		Kind: history.RW, Topology: impls.Standalone, Traits: can, Scripts: p.scripts(),
		Source: impls.Source{Article: "lockbench", Where: "beyond the sources"},
		Claims: []impls.Claim{
			{Text: "A reader's release ends only its own hold.", Holds: true, Command: impls.Command("rw-lease", "contended") + " --workload read-mostly"},
			{Text: "A dead reader keeps writers out for a lease at the most, though others go on reading.", Holds: true, Command: impls.Command("rw-lease", "crash-holder") + " --workload read-mostly"},
			{Text: "A steady stream of readers does not keep a writer out.", Holds: true, Command: impls.Command("rw-lease", "steady") + " --workload read-mostly"},
			{Text: "A steady stream of writers does not keep a reader out.", Holds: false, Command: impls.Command("rw-lease", "contended") + " --workload read-mostly"},
		},
		Expect: waking(guarded()).With(expect.Shares()).Map(), New: p.open,
	}
}

func fairVariant() impls.Variant {
	p, can := fair(), traits()
	can.Fenced, can.FIFO = true, true
	return impls.Variant{
		Name: "fair", Summary: "As fenced, with a queue of waiters, each with a lease by the server's time; a release wakes only the first.",
		Kind: history.Mutex, Topology: impls.Standalone, Traits: can, Scripts: p.scripts(),
		Source: impls.Source{Article: "lockbench", Where: "beyond the sources"},
		Claims: []impls.Claim{
			{Text: "Waiters are granted in the order in which they came.", Holds: true, Command: impls.Command("fair", "contended")},
			{Text: "A dead waiter at the head holds the others up for a lease at the most.", Holds: true, Command: impls.Command("fair", "crash-waiter")},
			{Text: "A waiter that gives up leaves no place behind.", Holds: true, Command: impls.Command("fair", "cancel-acquire")},
		},
		Expect: waking(guarded()).With(expect.Table{"crash-queue": verdicts.Safe()}).Map(), New: p.open,
	}
}

func handoffVariant() impls.Variant {
	p, can := handoff(), traits()
	can.Fenced, can.FIFO, can.FromAsking = true, true, true
	return impls.Variant{
		Name: "handoff", Summary: "As fair; the script of a release also grants the lock to the first waiter, and tells it through the list on which it blocks.",
		Kind: history.Mutex, Topology: impls.Standalone, Traits: can, Scripts: p.scripts(),
		Source: impls.Source{Article: "lockbench", Where: "beyond the sources"},
		Claims: []impls.Claim{
			{Text: "Waiters are granted in the order in which they came.", Holds: true, Command: impls.Command("handoff", "contended")},
			{Text: "A dead waiter at the head holds the others up for a lease at the most.", Holds: true, Command: impls.Command("handoff", "crash-waiter")},
			{Text: "A waiter that gives up leaves no place behind, and no lock that was granted to it meanwhile.", Holds: true, Command: impls.Command("handoff", "cancel-acquire")},
		},
		Expect: handoffExpectations().Map(), Derives: waiterLists{}, New: p.open,
	}
}

// handoffExpectations are those of fair.
func handoffExpectations() expect.Table {
	return waking(guarded()).With(expect.Table{
		"crash-queue": verdicts.Safe(),
		"pubsub-cut":  verdicts.NotApplicable("waiters block on lists: there is no subscription to cut"),
	})
}

func semaphoreVariant() impls.Variant {
	p, can := semaphore(), traits()
	can.Permits = true
	return impls.Variant{
		Name: "semaphore", Summary: "n permits in a sorted set, each with a lease by the server's time.",
		Kind: history.Semaphore, Topology: impls.Standalone, Traits: can, Scripts: p.scripts(),
		Source: impls.Source{Article: "lockbench", Where: "beyond the sources"},
		Claims: []impls.Claim{
			{Text: "There are never more holders than permits.", Holds: true, Command: impls.Command("semaphore", "contended")},
			{Text: "The permit of a dead holder comes back once, after its lease.", Holds: true, Command: impls.Command("semaphore", "crash-holder")},
		},
		Expect: waking(counted()).Map(), New: p.open,
	}
}
