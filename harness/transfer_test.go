package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/verdicts"
)

// money is the fate of a balance when a payment takes 2.1 s under a lease of 2.0 s.
type money string

const (
	lost    money = "lost"    // the payment overwrites a remittance that was made after the lease
	kept    money = "kept"    // the lock outlasts the payment
	refused money = "refused" // the store refuses the payment, whose fence is old
	not     money = "not"     // the scenario does not apply, or no money moves
)

// odd lists the locks for which traits alone do not determine the result.
var odd = map[string]money{
	"exists-set":       lost, // has no lease, and grants two at once
	"watchdog-bounded": lost, // renews a full lease after the grant, when the key has just expired
	"redislock":        kept, // makes one attempt by default: the remittance is refused and never made
	"lua-nil":          not,  // never grants
}

// fate returns the expected result for a variant.
func fate(v impls.Variant) money {
	known, ok := odd[v.Name]
	switch {
	case ok:
		return known
	case v.Expect["transfer"].NA != "":
		return not
	case v.Traits.Fenced:
		return refused
	case v.Traits.SelfRenewing, v.Traits.NoLease:
		return kept
	}
	return lost
}

// expectMoney compares the result of a transfer with the expected one.
func expectMoney(t *testing.T, out *Outcome, want money) {
	t.Helper()
	d := out.Result.Damage
	switch {
	case want == lost && (d == nil || d.Missing == 0 || d.LostUpdates == 0):
		t.Errorf("damage %+v, want money missing", d)
	case want != lost && d != nil && (d.Missing != 0 || d.LostUpdates != 0):
		t.Errorf("damage %+v, want none", d)
	case want == refused && out.Result.Operations["write"][history.Rejected.String()] == 0:
		t.Errorf("writes %v, want one that was refused", out.Result.Operations["write"])
	}
}

// TestTransferInTheSimulator runs the transfer with every lock of the catalogue.
func TestTransferInTheSimulator(t *testing.T) {
	fates := map[money]int{}
	for _, v := range catalogue.Locks() {
		want := fate(v)
		fates[want]++
		if want == not {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			out, err := Run(t.Context(), experiment(t, v.Name, "transfer", &Sim{}, Goroutines))
			if err != nil {
				t.Fatal(err)
			}
			expectMoney(t, out, want)
		})
	}
	if fates[lost] < 10 || fates[kept] < 3 || fates[refused] < 1 {
		t.Errorf("%v: too few of a kind for this test to say anything", fates)
	}
}

// TestTransferOnARealRedis runs it with a few of each kind, and compares the files of the run
// directory with the run's result.
func TestTransferOnARealRedis(t *testing.T) {
	t.Parallel()
	names := []string{"token", "set-nx-ex", "reentrant-hash", "redislock-normalised", "watchdog-timer", "redisson", "fenced"}
	var all []Experiment
	for _, name := range names {
		all = append(all, experiment(t, name, "transfer", provider(t, "process"), Goroutines))
	}
	for i, out := range sideBySide(t, all) {
		t.Run(names[i], func(t *testing.T) {
			expectMoney(t, out, fate(all[i].Variant))
			again := recheck(t, out.Dir)
			if diff := cmp.Diff(out.Result.Damage, again.Damage); diff != "" {
				t.Errorf("checked again, the damage differs:\n%s", diff)
			}
			if a, b := integrity(out.Result.Properties), integrity(again.Properties); a != b {
				t.Errorf("checked again, store-integrity is %s, was %s", b, a)
			}
		})
	}
}

func integrity(all []checker.Property) checker.Result {
	for _, p := range all {
		if p.Name == verdicts.StoreIntegrity {
			return p.Verdict
		}
	}
	return ""
}
