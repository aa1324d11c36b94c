package expect

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/verdicts"
)

// Foreign returns what a user's lock may show, by its traits: only what no lock of its kind can
// prevent. Nothing must be observed.
func Foreign(v impls.Variant) Table {
	t := Leased()
	if v.Traits.NoLease {
		t = Unleased()
	}
	for _, name := range []string{"crash-mid-acquire", "owner-collision"} { // they may apply
		t[name] = verdicts.Safe()
	}
	if v.Topology == impls.Independent {
		t["partition-minority"] = verdicts.Safe()
	}
	if v.Traits.Wakeups {
		t = t.With(Wakes())
		t["pubsub-cut"] = verdicts.Safe()
	}
	if v.Traits.Extends {
		t = t.With(Extends())
	}
	if v.Traits.SelfRenewing {
		t = t.With(Renews())
	}
	if v.Kind == history.Reentrant {
		t = t.With(Reenters())
	}
	if v.Kind == history.RW {
		t = t.With(Shares())
	}
	if v.Kind == history.Semaphore {
		t = t.With(Counts())
	}
	for name, e := range t {
		t[name] = possible(e, v.Traits.Fenced)
	}
	return t
}

// possible turns required breaks into optional ones. The store of a fenced lock refuses late
// writes.
func possible(e verdicts.Expectation, fenced bool) verdicts.Expectation {
	if e.NA != "" {
		return e
	}
	may := slices.Concat(e.Breaks, e.May)
	if fenced {
		may = slices.DeleteFunc(may, func(b verdicts.Break) bool { return b.Property == verdicts.StoreIntegrity })
	}
	return verdicts.Expectation{May: may}
}
