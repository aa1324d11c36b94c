package mutex

import (
	"slices"

	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// expectExistsSet: two clients find the key missing and both write it; it also has the defects of a
// lock without a lease.
func expectExistsSet() expect.Table {
	race := slices.Concat(expect.TwoHolders("double-grant"), expect.AnyMisUnlock())
	stuck := slices.Concat(expect.Stuck(), expect.StuckLuck())
	return expect.Unleased().
		With(expect.Table{
			"contended": verdicts.Breaks("mutual-exclusion/double-grant", "exclusive-use/double-grant"),
			// After a crash between EXISTS and SET there is no key; after a crash behind SET the
			// key stays.
			"crash-mid-acquire": verdicts.Safe().Or(stuck...),
			"crash-holder":      verdicts.Safe().Or(stuck...),
			// The reply may be that of EXISTS.
			"lost-reply-acquire": verdicts.Safe().Or(stuck...),
			// The waiter may die behind its SET.
			"crash-waiter": verdicts.Safe().Or(stuck...),
			// Two clients may hold before the fault, which is then not the cause.
			"kill-server": verdicts.Safe().Or(expect.TwoHolders("restart-loss")...),
			"failover":    verdicts.Safe().Or(expect.TwoHolders("failover-loss")...),
			"key-deleted": verdicts.Safe().Or(expect.TwoHolders(expect.KeyDeleted)...),
			"eviction":    verdicts.Safe().Or(expect.TwoHolders(expect.Evicted)...),
		}).
		Luck(race)
}

// expectSetnxExpire: whatever comes between SETNX and EXPIRE leaves a key without a lease.
func expectSetnxExpire() expect.Table {
	stuck := verdicts.Breaks(expect.Stuck()...).Or(expect.StuckLuck()...)
	return expect.Blind().
		With(expect.Table{
			"crash-mid-acquire":  stuck,
			"lost-reply-acquire": stuck,
		}).
		Luck(slices.Concat(expect.Stuck(), expect.StuckLuck()), betweenCommands()...)
}

// betweenCommands returns the scenarios whose fault may come between SETNX and EXPIRE. With
// pause-after-grant the stall itself is longer than a lock may be stuck.
func betweenCommands() []string {
	return []string{"cancel-acquire", "lost-request", "blackhole-client", "crash-waiter", "kill-server", "pause-server", "pause-after-grant"}
}

// expectGetsetTimestamp: the deadline in the value frees a key without a lease, one second late;
// and it lets a client in whose clock is ahead of the others' by more than the lease and that
// second.
func expectGetsetTimestamp() expect.Table {
	late := []string{"progress/no-expiry", "progress/orphan"}
	return expect.Blind().
		With(expect.Table{
			"crash-mid-acquire":  verdicts.Safe().Or(late...),
			"lost-reply-acquire": verdicts.Safe().Or(late...),
			"client-clock-skew": verdicts.Breaks("mutual-exclusion/clock-skew").
				Or(slices.Concat(expect.Damage("clock-skew"), expect.AnyMisUnlock())...),
		}).
		Luck(late, betweenCommands()...)
}

// expectTokenGetDel: the comparison keeps a late client from deleting another's key, unless the
// holder changes between its GET and its DEL.
func expectTokenGetDel() expect.Table {
	return expect.Leased().
		With(expect.Table{
			"pause-before-release": expect.LateRelease(),
			"script-flush":         verdicts.NotApplicable("sends no script"),
		}).
		Luck(expect.AnyMisUnlock(), "slow-work", "pause-holder", "pause-after-grant", "pause-server", "blackhole-client")
}
