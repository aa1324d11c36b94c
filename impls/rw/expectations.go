package rw

import (
	"slices"

	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// evicted is what follows when a reader's release takes the mark away that stands for other readers too.
func evicted() []string {
	return append(expect.TwoHolders("reader-evicted"), "release-safety/reader-evicted", "release-safety/mis-unlock")
}

// left is what is seen of a hold that nobody ever ends.
func left() []string { return slices.Concat(expect.Stuck(), expect.StuckLuck()) }

// expectOwner: readers come and go, writers never get in, and a reader that asks again after a lost reply is told that
// the lock is busy.
func expectOwner() expect.Table {
	return expect.Never().
		With(expect.Table{"cluster-slots": verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts make the names of keys in other slots")}).
		With(expect.Table{
			// Three writers that wait for a dead writer's key wait for that, not for want of a grant; the next that comes is refused for ever.
			"crash-waiter": verdicts.Safe().Or("progress/never-granted", "refusal/never-granted"),
			"lost-request": verdicts.Safe().Or("progress/never-granted", "refusal/never-granted"),
		}).
		Luck(append(left(), "refusal/ambiguous-reply"))
}

// expectOwnerFixed: no lease to outlive and no foreign release; what a lost client holds stays held.
func expectOwnerFixed() expect.Table {
	stuck, perhaps := verdicts.Breaks(expect.Stuck()...).Or(expect.StuckLuck()...), verdicts.Safe().Or(left()...)
	return expect.Leased().With(expect.Table{
		"slow-work":         verdicts.Safe(),
		"pause-holder":      verdicts.Safe(),
		"pause-after-grant": verdicts.Safe(),
		// Nobody can enter and end the stall, which outlasts the client's patience with its own request.
		"pause-before-release": perhaps,
		"crash-holder":         stuck,
		"crash-waiter":         perhaps,
		"cancel-acquire":       perhaps,
		// A reader asks again under its own name and is let in. When it is the first grant of all whose reply is lost, no other reply
		// tells what the script answers to a grant.
		"lost-reply-acquire": perhaps.Or("progress/unknown"),
		"lost-request":       perhaps,
		"blackhole-client":   perhaps,
		"pause-server":       perhaps,
		"restart-delayed":    verdicts.Safe().Or(expect.TwoHolders("restart-loss")...),
		"clock-jump":         verdicts.Safe(),
		"cluster-slots":      verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts make the names of keys in other slots"),
	})
}

// expectPair: whoever leaves deletes the mark of all. The built-in scenarios have writers alone; with readers among them
// (workload read-mostly) evictions are sure under contention.
func expectPair() expect.Table {
	return expect.Blind().
		With(expect.Table{
			"script-flush":  verdicts.Safe(),
			"cluster-slots": verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts use two keys in two slots"),
		}).
		Luck(evicted())
}

// expectHash: the last reader to come owns the mark of all; a client whose clock is ahead sees young marks as old ones. Readers are
// respected for a third of the lease only, so that a slow one overruns.
func expectHash() expect.Table {
	return expect.Leased().
		With(expect.Table{
			"client-clock-skew": verdicts.Breaks("mutual-exclusion/clock-skew").
				Or(append(expect.Damage("clock-skew"), "refusal/clock-skew", "progress/clock-skew")...),
			"clock-jump": verdicts.Safe().Or(expect.TwoHolders("clock-jump")...),
		}).
		Luck(slices.Concat(evicted(), expect.Overrun()))
}
