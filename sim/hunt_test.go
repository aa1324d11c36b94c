package sim

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// notFound are the planted bugs that the small setting cannot show, and why.
var notFound = map[string]string{
	"bug-extend-always-yes":   "no workload extends by itself",
	"bug-extend-recreates":    "no workload extends by itself",
	"bug-common-reader-lease": "no workload extends by itself",
	"bug-wake-early":          "a waiter that is not woken looks again within a lease, which progress allows",
	"bug-no-wake":             "a waiter that is not woken looks again within a lease, which progress allows",
	"bug-one-look":            "the quorum's clients are not stopped between the reply and the second look often enough",
	"bug-chained-deadlines":   "two clients make no queue",
	"bug-barging":             "the order of grants is no property",
	"bug-clean-up-cancelled":  "two clients make no queue",
}

// hunt explores a lock in its default setting.
func hunt(t *testing.T, v impls.Variant, schedules int) ExploreResult {
	t.Helper()
	s := New(nil)
	defer s.Close()
	r, err := s.Explore(t.Context(), ExploreConfig{
		Program: DefaultProgram(v), Bounds: Bounds{Faults: DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Schedules: schedules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEveryPlantedBugIsFound is the tester's own test: a search that misses a bug somebody planted proves nothing by passing.
func TestEveryPlantedBugIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for every planted bug")
	}
	for _, v := range catalogue.Planted() {
		t.Run(v.Name, func(t *testing.T) {
			if why, ok := notFound[v.Name]; ok {
				t.Skip(why)
			}
			start := time.Now()
			r := hunt(t, v, 3000)
			if r.First == nil {
				t.Fatalf("%s is not found within %d schedules", v.Planted.Bug, r.Schedules)
			}
			t.Logf("%s/%s in schedule %d, %v, %d lines", r.First.Property, r.First.Cause, r.First.Schedule, time.Since(start).Round(time.Millisecond), len(r.First.Steps))
		})
	}
}

// correct are the locks of the catalogue that keep their promise under every default fault.
var correct = []string{"token", "redlock", "rw-lease", "fair", "semaphore", "redisson", "fenced", "token-native"}

// TestNoFalseAlarm explores the correct locks: LOCKBENCH_SOAK says how many schedules of each.
func TestNoFalseAlarm(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK"))
	if err != nil {
		n = 60
	}
	for _, name := range correct {
		t.Run(name, func(t *testing.T) {
			v, ok := catalogue.Find(name)
			if !ok {
				t.Fatalf("no lock %s", name)
			}
			r := hunt(t, v, n)
			if r.First != nil {
				t.Errorf("%s/%s in schedule %d:\n%v\n%s", r.First.Property, r.First.Cause, r.First.Schedule, r.First.Steps, r.First.Tape)
			}
			t.Logf("%d schedules in %.1f s; inherent: %s", r.Schedules, r.Seconds, r.Exceptions())
		})
	}
}
