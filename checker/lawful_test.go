package checker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

var kinds = []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore}

// histories is how many are drawn of a kind.
func histories(ordinary int) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("LOCKBENCH_SOAK"), 10, 64); err == nil {
		return n
	}
	if testing.Short() {
		return uint64(ordinary) / 10
	}
	return uint64(ordinary)
}

// TestLawfulRecords: no property fails of what a correct server did.
func TestLawfulRecords(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			judged := map[string]int{}
			for seed := range histories(3000) {
				s := simulate(kind, seed, "")
				v, err := Check(t.Context(), s.input(), Options{Seed: seed, Bare: true})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if got := broken(v); got != "" {
					t.Fatalf("seed %d: %s\n%s", seed, got, described(s, v))
				}
				for _, p := range v.Properties {
					judged[string(p.Name)] += p.Judged
				}
			}
			for _, name := range []string{"mutual-exclusion", "refusal", "release-safety", "progress", "linearizability", "renewal"} {
				if judged[name] == 0 {
					t.Errorf("%s was never judged", name)
				}
			}
		})
	}
}

// described returns what was found in a record, and the record as a file has it.
func described(s *server, v *Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "faults %+v\n", s.faults)
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "%s at %d for %d, %v\n", x.Property, x.At, x.Lasted, x.Clients)
	}
	w := history.NewWriter(&b, s.h)
	for i := range s.ops {
		if err := w.Write(&s.ops[i]); err != nil {
			return err.Error()
		}
	}
	if err := w.Close(); err != nil {
		return err.Error()
	}
	return b.String()
}

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
