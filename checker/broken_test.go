package checker

import (
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// TestBrokenRecords breaks one thing in the record of a correct server and counts how often the
// right property fails.
func TestBrokenRecords(t *testing.T) {
	rows := []struct {
		name     string
		property verdicts.Property
		floor    float64
		kinds    []history.Kind
	}{
		{"early-grant", verdicts.MutualExclusion, 95, kinds},
		{"outlived-lease", verdicts.ExclusiveUse, 95, kinds[:2]},
		{"lost-update", verdicts.StoreIntegrity, 95, kinds[:1]},
		{"late-write", verdicts.StoreIntegrity, 95, kinds[:1]},
		{"lower-fence", verdicts.FencingOrder, 95, kinds[:2]},
		{"ends-anothers", verdicts.ReleaseSafety, 80, kinds[:1]},
		{"extend-of-gone", verdicts.ReleaseSafety, 95, kinds},
		{"refused-release", verdicts.ReleaseSafety, 85, []history.Kind{history.Mutex}},
		{"refused-free", verdicts.Refusal, 80, kinds},
		{"stuck-waiter", verdicts.Progress, 90, kinds},
	}
	for _, row := range rows {
		broke, caught := 0, 0
		for _, kind := range row.kinds {
			for seed := range histories(1000) {
				s := simulate(kind, seed, row.name)
				if !s.broke {
					continue
				}
				v, err := Check(t.Context(), s.input(), Options{Seed: seed, Bare: true, Unsearched: true})
				if err != nil {
					t.Fatalf("%s, %s, seed %d: %v", row.name, kind, seed, err)
				}
				if broke++; v.property(row.property).Verdict == Fail {
					caught++
				}
			}
		}
		share := 100 * float64(caught) / float64(max(broke, 1))
		t.Logf("%-16s %-18s %5.1f %% of %d", row.name, row.property, share, broke)
		if share < row.floor || broke < 5 {
			t.Errorf("%s: %.1f %% of %d are caught, the floor is %.0f %%", row.name, share, broke, row.floor)
		}
	}
}
