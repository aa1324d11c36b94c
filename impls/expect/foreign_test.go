package expect_test

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

func TestForeign(t *testing.T) {
	damage := verdicts.Break{Property: verdicts.StoreIntegrity, Cause: "lease-overrun"}
	for _, row := range []struct {
		what     string
		variant  impls.Variant
		scenario string
		seen     verdicts.Break
		may      bool
	}{
		{"the lease of a stalled holder ends", impls.Variant{}, "pause-holder", verdicts.Break{Property: verdicts.ExclusiveUse, Cause: "lease-overrun"}, true},
		{"its late write does damage", impls.Variant{}, "pause-holder", damage, true},
		{"fences prevent the damage", impls.Variant{Traits: impls.Traits{Fenced: true}}, "pause-holder", damage, false},
		{"a release of another's lock", impls.Variant{}, "pause-holder", verdicts.Break{Property: verdicts.MutualExclusion, Cause: "mis-unlock"}, false},
		{"two holders without a fault", impls.Variant{}, "contended", verdicts.Break{Property: verdicts.MutualExclusion, Cause: "double-grant"}, false},
	} {
		e, ok := expect.Foreign(row.variant)[row.scenario]
		if !ok || len(e.Breaks) > 0 {
			t.Errorf("%s: %v, %v: want an expectation in which nothing must be seen", row.what, e, ok)
		}
		may := false
		for _, b := range e.May {
			may = may || b.Covers(row.seen)
		}
		if may != row.may {
			t.Errorf("%s: %v may be seen: %v, want %v", row.what, row.seen, may, row.may)
		}
	}
	if _, ok := expect.Foreign(impls.Variant{})["read-mostly"]; ok {
		t.Error("a mutex has readers")
	}
	if _, ok := expect.Foreign(impls.Variant{Kind: history.RW})["read-mostly"]; !ok {
		t.Error("a lock with readers is not run with them")
	}
}
