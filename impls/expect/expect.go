// Package expect has the expected results of the built-in scenarios for kinds of locks, as tables
// that the families modify for each lock.
//
// The tables assume the scenarios' workload: several clients that acquire, read the guarded store,
// think, write back and release, under a lease longer than the thinking; pauses are longer than the
// lease and last until another client has entered. Breaks has what must be observed, May what
// depends on timing.
package expect

import (
	"maps"

	"github.com/lockbench/lockbench/verdicts"
)

// Table has the expected results of a lock by scenario name.
type Table map[string]verdicts.Expectation

// With returns the table with changes.
func (t Table) With(changes Table) Table {
	out := maps.Clone(t)
	maps.Copy(out, changes)
	return out
}

// Luck returns the table with pairs that may be observed in the named scenarios, or in all if none
// is named.
func (t Table) Luck(pairs []string, names ...string) Table {
	return t.each(names, func(e verdicts.Expectation) verdicts.Expectation { return e.Or(pairs...) })
}

// LuckOnServers is Luck for pairs that may be observed on real servers, and not in the simulator.
func (t Table) LuckOnServers(pairs []string, names ...string) Table {
	return t.each(names, func(e verdicts.Expectation) verdicts.Expectation { return e.OrOnServers(pairs...) })
}

// each changes the expectations of the named scenarios that apply, or of all if none is named.
func (t Table) each(names []string, change func(verdicts.Expectation) verdicts.Expectation) Table {
	out := maps.Clone(t)
	if len(names) == 0 {
		names = Scenarios()
	}
	for _, n := range names {
		if out[n].NA == "" {
			out[n] = change(out[n])
		}
	}
	return out
}

// Scenarios returns the scenarios for which every lock must have an expectation.
func Scenarios() []string {
	return []string{
		"steady", "contended", "slow-work",
		"pause-holder", "pause-after-grant", "pause-before-release", "crash-holder", "crash-mid-acquire",
		"crash-waiter", "cancel-acquire", "client-clock-skew", "owner-collision",
		"lost-reply-acquire", "lost-reply-release", "lost-request", "slow-network", "blackhole-client",
		"partition-minority", "pubsub-cut",
		"kill-server", "restart-delayed", "pause-server", "failover", "clock-jump", "drift-clock", "script-flush",
		"key-deleted", "eviction", "cluster-slots", "sentinel-failover", "sentinel-partition",
	}
}
