package repro

import (
	"strings"

	"github.com/lockbench/lockbench/impls/catalogue"
)

// reports returns the reported bugs of libraries, planted in correct locks.
func reports() []Bug {
	// What a search finds broken, and why. A fence that is taken apart from the grant has no cause of
	// its own: the cause is what let the grants cross, the end of a lease. Other planted bugs need a
	// scenario, because the small setting of a search has no client that extends by hand, no long
	// queue, and no waiter for more than a lease.
	known := map[string]string{
		"bug-blind-release":     "mutual-exclusion/mis-unlock",
		"bug-expire-apart":      "progress/no-expiry",
		"bug-same-token":        "mutual-exclusion/mis-unlock",
		"bug-unknown-is-busy":   "refusal/ambiguous-reply",
		"bug-lease-from-reply":  "mutual-exclusion/overbelief",
		"bug-fence-apart":       "fencing-order/lease-overrun",
		"bug-readers-cleared":   "mutual-exclusion/reader-evicted",
		"bug-upgrade-race":      "mutual-exclusion/double-grant",
		"bug-eternal-claim":     "progress/orphan",
		"bug-client-clock":      "mutual-exclusion/clock-skew",
		"bug-over-release":      "mutual-exclusion/mis-unlock",
		"bug-one-too-many":      "mutual-exclusion/double-grant",
		"bug-inner-release":     "mutual-exclusion/own-release",
		"bug-renews-anothers":   "release-safety/mis-unlock",
		"bug-loss-ignored":      "release-safety/overbelief",
		"bug-never-renews":      "mutual-exclusion/overbelief",
		"bug-short-inner-lease": "reentrancy/own-release",
	}
	var out []Bug
	for _, v := range catalogue.Planted() {
		b := Bug{Name: strings.TrimPrefix(v.Name, "bug-"), What: v.Planted.Bug, Source: v.Planted.Report, Lock: v.Name, Control: v.Planted.Of}
		if property, ok := known[v.Name]; ok {
			b.Shows = []string{property}
		} else {
			for name, e := range v.Expect { // the one scenario that must show it
				for _, broken := range e.Breaks {
					b.Scenario, b.Shows = name, append(b.Shows, broken.String())
				}
			}
		}
		out = append(out, b)
	}
	return out
}
