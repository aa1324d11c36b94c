// Package kit puts the variants of a family before the conformance kit, in the family's own tests.
package kit

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/locktest"
)

// Exceptions are the rules that variants break, by the variant's name.
type Exceptions struct {
	Breaks map[string][]string // by design: the kit must see each broken
	// Virtual are broken in virtual time alone, where two calls can be in the same millisecond and
	// a server can answer with errors.
	Virtual map[string][]string
	// by a race, or by a waiting time of a library's that may or may not fit into a rule's limit
	May map[string][]string
}

// NeverGranted returns the rules that need a grant, which an exclusive acquire of some variants never
// gets.
func NeverGranted() []string {
	return []string{"busy-is-busy", "clean", "deadline", "excludes", "lost-release", "no-lost-update", "one-slot", "one-wins",
		"release-needs-a-hold", "release-once", "scripts-forgotten", "waits",
		"names-apart", "reuse", "release-frees", "loss-returns", "context-ended", "bounded-requests", "no-stale-signals", "nothing-running",
		"released-at-once", "asked-again", "try-returns", "no-answer", "between-requests", "two-waits", "unanswered", "released-between",
		"connections-cut", "reserved-words"}
}

// Run checks every rule that applies to a variant, in virtual time. Variants that need replicas
// have none there and are left out.
func Run(t *testing.T, all []impls.Variant, e Exceptions, options ...locktest.Option) {
	for _, v := range few(all) {
		if v.Topology != impls.Replicated {
			t.Run(v.Name, func(t *testing.T) {
				locktest.Run(t, nil, append(e.options(v, options), locktest.Breaks(e.Virtual[v.Name]...))...)
			})
		}
	}
}

// OnRedis checks the same rules on redis-server, in real time: a few variants at once, as -parallel
// says, for they mostly wait. The race detector sees the same goroutines meet in virtual time, and
// makes replies late: it has no part in this.
func OnRedis(t *testing.T, all []impls.Variant, e Exceptions) {
	if raceDetector {
		t.Skip("the race detector is on")
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			more := []locktest.Option{locktest.OnlyReal()}
			// the other rules have no patience for a replica that reports once a second
			if v.Topology == impls.Replicated {
				more = append(more, locktest.Only("replica-missing"))
			}
			locktest.Run(t, nil, e.options(v, more)...)
		})
	}
}

func (e Exceptions) options(v impls.Variant, more []locktest.Option) []locktest.Option {
	return append([]locktest.Option{locktest.Variant(v), locktest.Breaks(e.Breaks[v.Name]...), locktest.MayBreak(e.May[v.Name]...)}, more...)
}

// few is all of them, and under the race detector, which makes everything ten times as slow, one
// for each way in which goroutines meet: a plain mutex, a watchdog with wake-ups, a quorum, a
// queue, and a library.
func few(all []impls.Variant) []impls.Variant {
	if !raceDetector {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(v impls.Variant) bool {
		return !slices.Contains([]string{"token", "redisson", "redlock", "fair", "rueidislock"}, v.Name)
	})
}
