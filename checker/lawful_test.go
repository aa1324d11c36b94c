package checker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
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
