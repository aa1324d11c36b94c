package expect

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Foreign is what a lock may show that is no entry of the catalogue, by what it says it can do: what no lock of its kind can prevent, and
// nothing else. Nothing must be seen: it may be better than it says.
func Foreign(v impls.Variant) Table {
	t := Leased()
	if v.Traits.NoLease {
		t = Unleased()
	}
	for _, name := range []string{"crash-mid-acquire", "owner-collision"} { // how it acquires is not known
		t[name] = impls.Safe()
	}
	if v.Topology == impls.Independent {
		t["partition-minority"] = impls.Safe()
	}
	if v.Traits.Wakeups {
		t = t.With(Wakes())
		t["pubsub-cut"] = impls.Safe()
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
	for name, e := range t {
		t[name] = possible(e, v.Traits.Fenced)
	}
	return t
}

// possible makes what must be seen what may be. The store of a lock with fences refuses what comes late.
func possible(e impls.Expectation, fenced bool) impls.Expectation {
	if e.NA != "" {
		return e
	}
	may := slices.Concat(e.Breaks, e.May)
	if fenced {
		may = slices.DeleteFunc(may, func(b impls.Break) bool { return b.Property == history.StoreIntegrity })
	}
	return impls.Expectation{May: may}
}
