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

// described returns a record and what was found in it.
func described(s *server, v *Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v faults %+v\n", s.h, s.faults)
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "%s at %.3f for %.3f, %v\n", x.Property, float64(x.At)/1e6, float64(x.Lasted)/1e6, x.Clients)
	}
	for _, o := range s.ops {
		fmt.Fprintf(&b, "%s %s %.3f %.3f %s %s", o.Client, o.Op, float64(o.Call)/1e6, float64(o.Return)/1e6, o.Outcome, o.Mode)
		if o.Token != "" {
			fmt.Fprintf(&b, " token=%s", o.Token)
		}
		if o.Asked != 0 {
			fmt.Fprintf(&b, " asked=%.3f", float64(o.Asked)/1e6)
		}
		if o.ValidUntil != 0 {
			fmt.Fprintf(&b, " until=%.3f", float64(o.ValidUntil)/1e6)
		}
		if o.Fence != 0 {
			fmt.Fprintf(&b, " fence=%d", o.Fence)
		}
		if o.HasValue {
			fmt.Fprintf(&b, " read=%d wrote=%d versions %d %d", o.Read, o.Wrote, o.ReadVersion, o.Version)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
