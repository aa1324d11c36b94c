package sim

import (
	"testing"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// searched explores a defective lock beyond its first finding, and returns what was found.
func searched(t *testing.T, strategy string, workers int, shard Shard) ExploreResult {
	t.Helper()
	v, _ := catalogue.Find("set-nx-ex")
	cfg := ExploreConfig{Program: DefaultProgram(v), Bounds: Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1}, Strategy: strategy,
		Workers: workers, Schedules: 50, All: true, Shard: shard, Known: catalogue.Known{}}
	if strategy == Exhaustive {
		cfg.Schedules, cfg.Program.Config.Ops, cfg.Program.Clients = 0, 1, 2
	}
	r, err := Explore(t.Context(), cfg, nil)
	if err != nil || r.Reason != "" {
		t.Fatalf("shard %v: %v %s", shard, err, r.Reason)
	}
	return r
}

// TestShardsOfASearch: shards together cover what one search covers, even if one machine has more workers than another.
func TestShardsOfASearch(t *testing.T) {
	for _, strategy := range []string{Mixed, Exhaustive} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			whole := searched(t, strategy, 1, Shard{})
			var schedules, steps int
			violated, first := map[string]int{}, -1
			for i := range 3 {
				r := searched(t, strategy, 1+i%2, Shard{Index: i + 1, Count: 3})
				schedules, steps = schedules+r.Schedules, steps+r.Steps
				for what, n := range r.Violated {
					violated[what] += n
				}
				if r.First != nil && (first < 0 || r.First.Schedule < first) {
					first = r.First.Schedule
				}
			}
			if len(whole.Violated) == 0 {
				t.Fatalf("the whole search found nothing: %+v", whole)
			}
			if strategy == Exhaustive { // both shards explore states that both reach, so only the findings are the same
				for what := range whole.Violated {
					if violated[what] == 0 {
						t.Errorf("no shard saw %s; they saw %v", what, violated)
					}
				}
				return
			}
			if schedules != 50 || steps != whole.Steps || first != whole.First.Schedule {
				t.Errorf("%d schedules of %d steps, first finding %d; the whole has 50 of %d, first %d", schedules, steps, first, whole.Steps, whole.First.Schedule)
			}
			for what, n := range whole.Violated {
				if violated[what] != n {
					t.Errorf("%s: %d in the shards, %d in the whole", what, violated[what], n)
				}
			}
		})
	}
}

func TestShareOfAShard(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 50} {
		sum := 0
		for i := range 8 {
			sum += Shard{Index: i + 1, Count: 8}.of(n)
		}
		if sum != n {
			t.Errorf("eight shards have %d of %d schedules", sum, n)
		}
	}
}
