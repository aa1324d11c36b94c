package results_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

func TestAgainstABaseline(t *testing.T) {
	const safe, broken = "safe (exclusive-use/lease-overrun)", "mutual-exclusion/mis-unlock"
	cell := func(expected string, v checker.Result) *results.Cell {
		return &results.Cell{Lock: "token", Scenario: "steady", Expected: expected, Observed: "x", Verdict: v}
	}
	caught := cell(broken, checker.Pass)
	caught.Planted = true
	missed := cell(broken, checker.Fail)
	missed.Planted = true
	tests := []struct {
		name    string
		was, is *results.Cell // nil: no such cell
		partly  bool          // cells were left out on purpose
		want    results.ChangeKind
		verdict checker.Result
	}{
		{"nothing has changed", cell(safe, checker.Pass), cell(safe, checker.Pass), false, "", checker.Pass},
		{"it differs now", cell(safe, checker.Pass), cell(safe, checker.Fail), false, results.Broken, checker.Fail},
		{"it differed and does not", cell(safe, checker.Fail), cell(safe, checker.Pass), false, results.Fixed, checker.Pass},
		{"the expectation was lowered to what is seen", cell(safe, checker.Pass), cell(broken, checker.Pass), false, results.Broken, checker.Fail},
		{"the lock holds now, and is expected to", cell(broken, checker.Pass), cell(safe, checker.Pass), false, results.Fixed, checker.Pass},
		{"a planted bug is missed", caught, missed, false, results.Broken, checker.Fail},
		{"a planted bug is caught", missed, caught, false, results.Fixed, checker.Pass},
		{"a new cell", nil, cell(safe, checker.Pass), false, results.Added, checker.Pass},
		{"a cell is gone", cell(safe, checker.Pass), nil, false, results.Gone, checker.Fail},
		{"a cell was not asked for", cell(safe, checker.Pass), nil, true, "", checker.Pass},
		{"a cell came to no verdict", cell(safe, checker.Pass), cell(safe, checker.Inconclusive), false, results.Gone, checker.Fail},
		{"a cell that never applied is gone", cell(safe, checker.NotApplicable), nil, false, "", checker.Pass},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := func(c *results.Cell) []results.Cell {
				if c == nil {
					return nil
				}
				return []results.Cell{*c}
			}
			s := results.Suite{Verdict: checker.Pass, Cells: list(tt.is)}
			s.Against(results.Suite{Cells: list(tt.was)}, !tt.partly)
			var got results.ChangeKind
			for _, c := range s.Changes {
				got += c.Change
			}
			if got != tt.want || s.Verdict != tt.verdict {
				t.Errorf("%+v, %s; want %q, %s", s.Changes, s.Verdict, tt.want, tt.verdict)
			}
		})
	}
}

// A suite is stored without what differs from day to day, and the one that was run stays as it is.
func TestStoreSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	s := results.Suite{Duration: time.Second, Baseline: "old.json", Changes: []results.Change{{Lock: "token"}}, Notes: []string{"slow"}, Agreement: &results.Agreement{},
		Cells: []results.Cell{{Lock: "token", Scenario: "steady", Observed: "safe", Verdict: checker.Pass, Run: "runs/1", Duration: time.Second}}}
	s.Judge()
	s.Sensitivity.Median = time.Second
	if err := results.StoreSuite(path, s); err != nil {
		t.Fatal(err)
	}
	got, err := results.LoadSuite(path)
	if err != nil {
		t.Fatal(err)
	}
	want := results.Suite{Schema: s.Schema, Verdict: s.Verdict, Sensitivity: s.Sensitivity,
		Cells: []results.Cell{{Lock: "token", Scenario: "steady", Observed: "safe", Verdict: checker.Pass}}}
	want.Sensitivity.Median = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Cells[0].Run == "" || s.Cells[0].Duration == 0 {
		t.Errorf("storing changed the suite: %+v", s.Cells[0])
	}
}

// A suite that was saved is read back, and what is none is refused.
func TestStoredSuites(t *testing.T) {
	folder := t.TempDir()
	s := results.Suite{Cells: []results.Cell{{Lock: "token", Scenario: "steady", Verdict: checker.Pass}}}
	s.Judge()
	if err := results.SaveSuite(folder, s, func(w io.Writer) error { _, err := fmt.Fprintln(w, "# it passed"); return err }); err != nil {
		t.Fatal(err)
	}
	got, err := results.LoadSuite(filepath.Join(folder, results.SuiteFile))
	if err != nil || len(got.Cells) != 1 || got.Cells[0] != s.Cells[0] {
		t.Errorf("%+v, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, results.SuiteSummary)); err != nil || !strings.Contains(string(text), "it passed") {
		t.Errorf("%q, %v", text, err)
	}
	for _, text := range []string{"{}", "not JSON", `{"schema":"lockbench/run/v1"}`} {
		path := filepath.Join(folder, "other.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := results.LoadSuite(path); !errors.Is(err, results.ErrBaseline) {
			t.Errorf("%s: %v, want ErrBaseline", text, err)
		}
	}
	if _, err := results.LoadSuite(filepath.Join(folder, "nothing.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
