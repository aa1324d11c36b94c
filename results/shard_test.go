package results_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// TestShardsSplitAPlan: every item is in one shard, and the sizes of shards differ by at most one.
func TestShardsSplitAPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, of := rapid.IntRange(1, 12).Draw(t, "count"), rapid.IntRange(0, 60).Draw(t, "pieces")
		seen := make([]int, of)
		for i := 1; i <= n; i++ {
			s, size := results.Shard{Index: i, Count: n, Of: of}, 0
			for k := range of {
				if s.Has(k) {
					seen[k]++
					size++
				}
			}
			if size < of/n || size > of/n+1 {
				t.Fatalf("%v has %d of %d", s, size, of)
			}
			if back, err := results.ParseShard(s.String()); err != nil || back.Index != i || back.Count != n {
				t.Fatalf("%v: read back %v, %v", s, back, err)
			}
		}
		if slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
			t.Fatalf("pieces are in so many shards: %v", seen)
		}
	})
}

func TestMergeRefuses(t *testing.T) {
	part := func(i, n int) results.Suite {
		return results.Suite{Server: "sim", Seed: 1, Shard: &results.Shard{Index: i, Count: n, Of: 6, Plan: "p"}}
	}
	other := func(change func(*results.Suite)) results.Suite {
		s := part(2, 2)
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name  string
		parts []results.Suite
		says  string
	}{
		{"nothing", nil, "no shards"},
		{"one is missing", []results.Suite{part(1, 3), part(3, 3)}, "2/3 missing"},
		{"one is given twice", []results.Suite{part(1, 2), part(1, 2)}, "1/2 is given twice"},
		{"of another split", []results.Suite{part(1, 2), part(2, 3)}, "different plans"},
		{"of another plan", []results.Suite{part(1, 2), other(func(s *results.Suite) { s.Shard.Plan = "q" })}, "different plans"},
		{"with another seed", []results.Suite{part(1, 2), other(func(s *results.Suite) { s.Seed = 2 })}, "seed 2"},
		{"on another server", []results.Suite{part(1, 2), other(func(s *results.Suite) { s.Server = "docker" })}, "docker"},
		{"a whole among them", []results.Suite{part(1, 2), other(func(s *results.Suite) { s.Shard = nil })}, "without --shard"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := results.MergeSuites(tt.parts)
			if !errors.Is(err, results.ErrShards) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
		})
	}
}

// TestMergeOfAnInterruptedShard: cells that were not run do not count as expected.
func TestMergeOfAnInterruptedShard(t *testing.T) {
	cell := func(lock string) results.Cell {
		return results.Cell{Lock: lock, Verdict: checker.Pass, Expected: "safe", Observed: "safe"}
	}
	at := time.Unix(1000, 0)
	first := results.Suite{Shard: &results.Shard{Index: 1, Count: 2, Of: 5}, Cells: []results.Cell{cell("0"), cell("2"), cell("4")}, Start: at, Duration: time.Second}
	second := results.Suite{Shard: &results.Shard{Index: 2, Count: 2, Of: 5}, Cells: []results.Cell{cell("1")}, Missing: 1, Start: at.Add(time.Second), Duration: 5 * time.Second,
		Notes: []string{"stopped after 1 of 2 cells"}}
	first.Reach("0", history.Reach{"a wait": 0, "readers at once": 0})
	second.Reach("0", history.Reach{"a wait": 3})
	got, err := results.MergeSuites([]results.Suite{second, first})
	must(t, err)
	locks := ""
	for _, c := range got.Cells {
		locks += c.Lock
	}
	if locks != "0124" || got.Missing != 1 || got.Verdict != checker.Inconclusive || got.Duration != 6*time.Second || got.Shard != nil {
		t.Errorf("%q %+v", locks, got)
	}
	if len(got.NeverReached) != 1 || !slices.Equal(got.NeverReached["0"], []string{"readers at once"}) {
		t.Errorf("never reached %v, want what no shard reached", got.NeverReached)
	}
	if len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "shard 2/2: ") {
		t.Errorf("notes %q", got.Notes)
	}
}

// TestMergeBenches: the settings are in the order of the plan again, each with the cells of its
// shard.
func TestMergeBenches(t *testing.T) {
	setting := func(clients int) results.BenchSetting { return results.BenchSetting{Clients: clients, Keys: 1} }
	part := func(index int, clients ...int) results.Bench {
		b := results.Bench{Server: "process", Seed: 1, Shard: &results.Shard{Index: index, Count: 2, Of: 3, Plan: "p"}, Duration: time.Duration(index) * time.Second,
			Rerun: "lockbench bench --shard " + []string{"", "1/2", "2/2"}[index] + " --seed 1", Notes: []string{"a note"}}
		for _, n := range clients {
			b.Plan.Settings = append(b.Plan.Settings, setting(n))
			b.Cells = append(b.Cells, results.BenchCell{Lock: "bare", Reference: true, Setting: setting(n), Verdict: checker.Pass}, results.BenchCell{Lock: "token", Setting: setting(n), Verdict: checker.Pass})
			b.Knees = append(b.Knees, results.Knee{Lock: "token", Setting: setting(n)})
		}
		return b
	}
	first, second := part(1, 1, 32), part(2, 8)
	second.Cells[1].Verdict = checker.Fail
	got, err := results.MergeBenches([]results.Bench{second, first})
	must(t, err)
	var clients []int
	for _, c := range got.Cells {
		clients = append(clients, c.Setting.Clients)
	}
	if !slices.Equal(clients, []int{1, 1, 8, 8, 32, 32}) || len(got.Knees) != 3 || len(got.Plan.Settings) != 3 {
		t.Errorf("cells of %v clients, %d knees, settings %v", clients, len(got.Knees), got.Plan.Settings)
	}
	if got.Verdict != checker.Fail || got.Duration != 2*time.Second || got.Shard != nil || got.Rerun != "lockbench bench --seed 1" {
		t.Errorf("%+v", got)
	}
	if len(got.Notes) != 3 || got.Notes[0] != "shard 1/2: a note" {
		t.Errorf("notes %q", got.Notes)
	}
	if _, err := results.MergeBenches([]results.Bench{first}); !errors.Is(err, results.ErrShards) {
		t.Errorf("one is missing: %v", err)
	}
}
