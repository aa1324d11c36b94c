package sim

import (
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// kept are the locks with a defect that these settings do not show, and why.
var kept = map[string]string{
	"token-session": "what a lost release leaves behind ends with the lease, which progress allows",
}

// longest is how many lines a counterexample may have once it was made small.
const longest = 12

// hunt explores a lock in its default setting.
func hunt(t *testing.T, v impls.Variant, schedules int) ExploreResult {
	t.Helper()
	s := New(catalogue.Known{})
	defer s.Close()
	r, err := s.Explore(t.Context(), ExploreConfig{
		Program: DefaultProgram(v), Bounds: Bounds{Faults: DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Schedules: schedules,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// defective are the locks in which a search must find something: those of the catalogue that are not known to be correct, and those with a
// planted bug.
func defective() []impls.Variant {
	sound := slices.Concat(correct, libraries, slices.Collect(maps.Keys(kept)))
	return slices.DeleteFunc(append(catalogue.Locks(), catalogue.Planted()...), func(v impls.Variant) bool {
		return v.Topology == impls.Cluster || slices.Contains(sound, v.Name)
	})
}

// TestEveryDefectIsFound is the tester's own test: a search that misses a bug somebody planted, or one that a source printed, proves
// nothing by passing.
func TestEveryDefectIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for every defect")
	}
	for _, v := range defective() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			r := hunt(t, v, 1000)
			if r.First == nil {
				t.Fatalf("nothing is found within %d schedules", r.Schedules)
			}
			found := time.Since(start)
			small := smaller(t, r.First.Tape)
			if len(small.Steps) > longest {
				t.Errorf("%d lines, want at most %d:\n%s", len(small.Steps), longest, strings.Join(small.Steps, "\n"))
			}
			t.Logf("%s/%s in schedule %d, %v, %d lines, %d made small", r.First.Property, r.First.Cause, r.First.Schedule,
				found.Round(time.Millisecond), len(r.First.Steps), len(small.Steps))
		})
	}
}

// shrinking is how long the test makes one tape smaller. A tape is valid whenever that ends.
const shrinking = 300 * time.Millisecond

func smaller(t *testing.T, tape Tape) Tape {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), shrinking)
	defer cancel()
	s := New(catalogue.Known{})
	defer s.Close()
	small, err := s.Shrink(ctx, tape)
	if err != nil {
		t.Fatal(err)
	}
	if broken, _, err := s.Breaks(t.Context(), small); err != nil || !broken {
		t.Errorf("the smaller tape breaks %s/%s: %v, %v", tape.Property, tape.Cause, broken, err)
	}
	return small
}

// libraries are the locks that nobody here wrote and in which nothing is found.
var libraries = []string{"redsync", "redsync-normalised", "redsync-quorum", "redislock", "redislock-normalised"}

// correct are the locks of the catalogue that keep their promise under every default fault.
var correct = []string{"token", "redlock", "rw-lease", "fair", "semaphore", "redisson", "fenced", "token-native", "token-wait", "handoff"}

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
