// Package expect holds what the built-in scenarios must show for kinds of locks, as tables that the families start
// from and change where a variant differs. It says nothing of any single variant.
//
// The tables assume the scenarios' workload: several clients that acquire, read the guarded store, think, write back and
// release, under a lease longer than the thinking; pauses are longer than the lease and last until another
// client has entered. A pair that must be seen is in Breaks; one that needs luck besides is in May.
package expect

import (
	"maps"

	"github.com/lockbench/lockbench/impls"
)

// Table is what a variant must show, by scenario name.
type Table map[string]impls.Expectation

// With returns the table with other expectations for some scenarios.
func (t Table) With(changes Table) Table {
	out := maps.Clone(t)
	maps.Copy(out, changes)
	return out
}

// Luck returns the table with the pairs added as possible to the named scenarios, to all when none is named.
func (t Table) Luck(pairs []string, names ...string) Table {
	out := maps.Clone(t)
	if len(names) == 0 {
		names = Scenarios()
	}
	for _, n := range names {
		if out[n].NA == "" {
			out[n] = out[n].Or(pairs...)
		}
	}
	return out
}

// Map returns the table in the form of impls.Variant.
func (t Table) Map() map[string]impls.Expectation { return t }

// Scenarios lists every scenario that a variant must have an expectation for.
func Scenarios() []string {
	return []string{
		"steady", "contended", "slow-work",
		"pause-holder", "pause-after-grant", "pause-before-release", "crash-holder", "crash-mid-acquire",
		"crash-waiter", "cancel-acquire", "client-clock-skew", "owner-collision",
		"lost-reply-acquire", "lost-reply-release", "lost-request", "slow-network", "blackhole-client",
		"partition-minority", "pubsub-cut",
		"kill-server", "restart-delayed", "pause-server", "failover", "clock-jump", "script-flush", "key-deleted",
		"eviction", "cluster-slots",
	}
}
