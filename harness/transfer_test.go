package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// A payment takes 2.1 s under a lease of 2.0 s. The files of the run directory give the same result.
func TestTransferOnARealRedis(t *testing.T) {
	t.Parallel()
	const (
		lost    = "lost"    // the payment overwrites a remittance that was made after the lease
		kept    = "kept"    // the lock outlasts the payment
		refused = "refused" // the store refuses the payment, whose fence is old
	)
	for lock, want := range map[string]string{"token": lost, "set-nx-ex": lost, "reentrant-hash": lost, "redislock-normalised": lost,
		"watchdog-timer": kept, "redisson": kept, "fenced": refused} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			out := conclusive(t, experiment(t, lock, "transfer", provider(t, "process"), Goroutines))
			d := out.Result.Damage
			switch {
			case want == lost && (d == nil || d.Missing == 0 || d.LostUpdates == 0):
				t.Errorf("damage %+v, want money missing", d)
			case want != lost && d != nil && (d.Missing != 0 || d.LostUpdates != 0):
				t.Errorf("damage %+v, want none", d)
			case want == refused && out.Result.Operations["write"][history.Rejected.String()] == 0:
				t.Errorf("writes %v, want one that was refused", out.Result.Operations["write"])
			}
			again := recheck(t, out.Dir)
			if diff := cmp.Diff(d, again.Damage); diff != "" {
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
