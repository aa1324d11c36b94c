package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/results"
)

// withDirs makes each cell leave a run directory, as real runs do.
func withDirs(t *testing.T, verdicts map[string]checker.Result) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
	t.Helper()
	n := make(chan int, 1)
	n <- 0
	return func(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
		i := <-n
		n <- i + 1
		out, err := cells(verdicts)(ctx, e)
		d, createErr := results.Create(e.Base, results.Name(e.Now(), string(rune('a'+i)), e.Scenario.Name, e.Variant.Name), false)
		if createErr != nil {
			t.Error(createErr)
			return out, err
		}
		if err := d.SaveRun(results.Run{Lock: e.Variant.Name, Scenario: e.Scenario.Name, Phase: results.Checked}); err != nil {
			t.Error(err)
		}
		out.Dir = d.Path()
		return out, err
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestSuiteKeepsWhatDiffers: the run directories of cells that are as expected go, unless all are
// to stay, and two suites never share one.
func TestSuiteKeepsWhatDiffers(t *testing.T) {
	verdicts := map[string]checker.Result{"setnx steady": checker.Fail, "setnx contended": checker.Inconclusive}
	tests := []struct {
		name string
		args []string
		want []string // run directories, without their times
	}{
		{"what differs and what is inconclusive", nil, []string{"contended-setnx", "steady-setnx"}},
		{"all", []string{"--keep-all"}, []string{"contended-setnx", "contended-token", "latest", "steady-setnx", "steady-token"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, out := newWorld(checker.Pass), t.TempDir()
			w.runner, w.random = withDirs(t, verdicts), strings.NewReader("abcdef") // two names
			args := append([]string{"suite", "--locks", "token,setnx", "--scenarios", "steady,contended", "--out", out, "-o", "json"}, tt.args...)
			for range 2 { // of the same second
				if got := w.call(t, args...); got != 1 {
					t.Fatalf("exit code %d\n%s", got, w.err)
				}
			}
			suites, err := filepath.Glob(filepath.Join(out, "suite-*"))
			if err != nil || len(suites) != 2 {
				t.Fatalf("suites %v, %v", suites, err)
			}
			for _, dir := range suites {
				var runs []string
				for _, name := range names(t, dir) {
					if run, _, ok := strings.Cut(name, "-2026"); ok || name == "latest" {
						runs = append(runs, run)
					}
				}
				runs = slices.Compact(runs) // an inconclusive cell is run again, and --keep-all keeps each try
				if !slices.Equal(runs, tt.want) {
					t.Errorf("%s has %v, want %v", dir, runs, tt.want)
				}
				s, err := results.LoadSuite(dir)
				must(t, err)
				for _, c := range s.Cells {
					if _, err := os.Stat(filepath.Join(c.Run, results.RunFile)); c.Run != "" && err != nil {
						t.Errorf("%s × %s: %v", c.Lock, c.Scenario, err)
					}
					if kept := c.Run != ""; kept != (tt.args != nil || c.Lock == "setnx") {
						t.Errorf("%s × %s: run %q", c.Lock, c.Scenario, c.Run)
					}
				}
			}
		})
	}
}

// TestSuiteTellsGitHub: the summary goes to the job's page, and what is not as expected beside the
// change.
func TestSuiteTellsGitHub(t *testing.T) {
	page := filepath.Join(t.TempDir(), "summary")
	must(t, os.WriteFile(page, []byte("before\n"), 0o600))
	w := newWorld(checker.Pass)
	w.runner = cells(map[string]checker.Result{"setnx steady": checker.Fail})
	w.env = func(name string) string {
		return map[string]string{"GITHUB_STEP_SUMMARY": page}[name]
	}
	w.call(t, "suite", "--locks", "token,setnx", "--scenarios", "steady")
	text, err := os.ReadFile(page)
	must(t, err)
	want(t, "summary", string(text), "before\n## FAIL: 1 of 2 cells as expected", "| setnx | **two**! |")
}

// TestSuiteShards: the shards have every cell once, whichever way they are split.
func TestSuiteShards(t *testing.T) {
	args := []string{"suite", "--locks", "token,setnx", "--scenarios", "steady,contended,crash-waiter", "-o", "json"}
	suiteOf := func(more ...string) (s results.Suite) {
		w := newWorld(checker.Pass)
		if got := w.call(t, append(args, more...)...); got != 0 {
			t.Fatalf("%v: exit code %d\n%s", more, got, w.err)
		}
		must(t, json.Unmarshal([]byte(w.out.String()), &s))
		return s
	}
	whole := suiteOf()
	var parts []results.Suite
	for _, shard := range []string{"3/4", "1/4", "4/4", "2/4"} {
		parts = append(parts, suiteOf("--shard", shard))
	}
	got, err := results.MergeSuites(parts)
	must(t, err)
	var a, b []string
	for i := range whole.Cells {
		a, b = append(a, whole.Cells[i].Lock+whole.Cells[i].Scenario), append(b, got.Cells[i].Lock+got.Cells[i].Scenario)
	}
	if !slices.Equal(a, b) || got.Verdict != whole.Verdict || got.Rerun != whole.Rerun {
		t.Errorf("whole %v %s\njoined %v %s", a, whole.Rerun, b, got.Rerun)
	}
	for _, bad := range []string{"5/4", "0/0", "1", "x/y", "-1/2"} {
		if got := newWorld(checker.Pass).call(t, append(args, "--shard", bad)...); got != 4 {
			t.Errorf("--shard %s: exit code %d, want 4", bad, got)
		}
	}
}
