package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/results"
)

// TestTurnsTakeEveryLockOnceInEachSetting: each repetition is complete before the next, and within
// one the locks of a setting are adjacent.
func TestTurnsTakeEveryLockOnceInEachSetting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		reps, locks := rapid.IntRange(1, 5).Draw(t, "reps"), rapid.IntRange(1, 5).Draw(t, "locks")
		settings := Config{Clients: []int{1, 8}[:rapid.IntRange(1, 2).Draw(t, "n")], Keys: []int{1, 64}, Holds: []time.Duration{0}}.plan()
		turns := planTurns(seed, reps, locks, settings)
		if len(turns) != reps*locks*len(settings) {
			t.Fatalf("%d turns", len(turns))
		}
		for i := 0; i < len(turns); i += locks {
			var seen []int
			for _, one := range turns[i : i+locks] {
				if one.Setting != turns[i].Setting || one.Repetition != i/(locks*len(settings))+1 {
					t.Fatalf("turn %d is out of its place: %+v", i, one)
				}
				seen = append(seen, one.Lock)
			}
			slices.Sort(seen)
			for l := range locks {
				if seen[l] != l {
					t.Fatalf("locks %v", seen)
				}
			}
		}
		if diff := cmp.Diff(turns, planTurns(seed, reps, locks, settings)); diff != "" {
			t.Fatal("the same seed gives another order:\n" + diff)
		}
	})
}

// TestOrderIsDrawnAnewForEachRepetition: a lock that always followed the same lock would always
// collect its garbage.
func TestOrderIsDrawnAnewForEachRepetition(t *testing.T) {
	first := map[int]bool{}
	for _, turn := range planTurns(1, 30, 3, Config{Clients: []int{1}, Keys: []int{1}, Holds: []time.Duration{0}}.plan()) {
		first[turn.Lock] = true
	}
	if len(first) != 3 {
		t.Errorf("locks seen: %v", first)
	}
}

func TestSteps(t *testing.T) {
	for _, row := range []struct {
		low, high float64
		n         int
		want      []float64
	}{
		{100, 3200, 6, []float64{100, 200, 400, 800, 1600, 3200}}, // doubling
		{100, 5000, 3, []float64{100, 707, 5000}},                 // rounded to three digits
		{250, 250, 1, []float64{250}},                             // a single one
	} {
		if got := Steps(row.low, row.high, row.n); !slices.Equal(got, row.want) {
			t.Errorf("Steps(%v, %v, %d) = %v, want %v", row.low, row.high, row.n, got, row.want)
		}
	}
}

// TestDefaultsTakeTwoMinutes: three locks with the command's defaults.
func TestDefaultsTakeTwoMinutes(t *testing.T) {
	c := Config{Clients: []int{1, 8}, Keys: []int{1}, Holds: []time.Duration{0}, Duration: 10 * time.Second, WarmUp: time.Second, Repetitions: 10}
	c.Locks = append(c.Locks, bareVariant(), bareVariant(), bareVariant()) // and the reference
	if got := c.Estimate(); got < 90*time.Second || got > 130*time.Second {
		t.Errorf("about %v", got)
	}
}

func TestSettingNames(t *testing.T) {
	for _, row := range []struct {
		s    results.BenchSetting
		want string
	}{
		{results.BenchSetting{Clients: 1, Keys: 1}, "1 client"},
		{results.BenchSetting{Clients: 8, Keys: 64, Hold: 2 * time.Millisecond, Rate: 500}, "8 clients, 64 keys, hold 2ms, 500/s offered"},
		{results.BenchSetting{Clients: 8, Keys: 1, Crash: true}, "8 clients, one crashes"},
	} {
		if got := row.s.String(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
