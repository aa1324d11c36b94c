package rw

import (
	"slices"

	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// evicted has the breaks when a reader's release deletes the mark that it shares with other
// readers.
func evicted() []string {
	return append(expect.TwoHolders("reader-evicted"), "release-safety/reader-evicted", "release-safety/mis-unlock")
}

// left has the breaks of a hold that no client ends.
func left() []string { return slices.Concat(expect.Stuck(), expect.StuckLuck()) }

// expectOwner: readers come and go, writers are never granted the lock, and a reader that repeats
// an acquire after a lost reply is refused.
func expectOwner() expect.Table {
	return expect.Never().
		With(expect.Table{"cluster-slots": verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts make the names of keys in other slots")}).
		With(expect.Table{
			// Three writers wait for a crashed writer's key, not because no writer is ever granted;
			// the next one is refused for ever.
			"crash-waiter": verdicts.Safe().Or("progress/never-granted", "refusal/never-granted"),
			"lost-request": verdicts.Safe().Or("progress/never-granted", "refusal/never-granted"),
		}).
		Luck(append(left(), "refusal/ambiguous-reply"))
}

// expectOwnerFixed: no lease to outlive and no foreign release; the hold of a crashed client stays
// for ever.
func expectOwnerFixed() expect.Table {
	stuck, perhaps := verdicts.Breaks(expect.Stuck()...).Or(expect.StuckLuck()...), verdicts.Safe().Or(left()...)
	// a release whose reply was lost leaves it locked
	primaries := perhaps.Or("progress/unknown").Or(expect.TwoPrimaries()...)
	return expect.Leased().With(expect.Table{
		"slow-work":         verdicts.Safe(),
		"pause-holder":      verdicts.Safe(),
		"pause-after-grant": verdicts.Safe(),
		// No other client can enter and end the stall, which outlasts the time-out of the client's
		// own request.
		"pause-before-release": perhaps,
		"crash-holder":         stuck,
		"crash-waiter":         perhaps,
		"cancel-acquire":       perhaps,
		// A reader repeats its acquire under its own name and is granted. When the lost reply is
		// that of the first grant, no other reply shows what the script answers to a grant.
		"lost-reply-acquire": perhaps.Or("progress/unknown"),
		"lost-request":       perhaps,
		"blackhole-client":   perhaps,
		"pause-server":       perhaps,
		"restart-delayed":    verdicts.Safe().Or(expect.TwoHolders("restart-loss")...),
		"clock-jump":         verdicts.Safe(),
		"drift-clock":        verdicts.Safe(),
		"cluster-slots":      verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts make the names of keys in other slots"),
		"sentinel-failover":  primaries,
		"sentinel-partition": primaries,
	})
}

// expectPair: any reader's release deletes the mark of all. The built-in scenarios have writers
// only; with readers (workload read-mostly) evictions are certain under contention.
func expectPair() expect.Table {
	return expect.Blind().
		With(expect.Table{
			"script-flush":  verdicts.Safe(),
			"cluster-slots": verdicts.NotApplicable("unsupported, CROSSSLOT: its scripts use two keys in two slots"),
		}).
		Luck(evicted())
}

// expectHash: the last reader owns the mark of all; a client whose clock is ahead takes young marks
// for old ones. A mark of readers counts for a third of the lease only, so a slow reader overruns.
func expectHash() expect.Table {
	return expect.Leased().
		With(expect.Table{
			"client-clock-skew": verdicts.Breaks("mutual-exclusion/clock-skew").
				Or(append(expect.Damage("clock-skew"), "refusal/clock-skew", "progress/clock-skew")...),
			"clock-jump":  verdicts.Safe().Or(expect.TwoHolders("clock-jump")...),
			"drift-clock": verdicts.Safe(), // its key lasts three times as long as a hold
		}).
		Luck(slices.Concat(evicted(), expect.Overrun()))
}
