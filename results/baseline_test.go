package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

func TestAgainstABaseline(t *testing.T) {
	const safe, broken = "safe (exclusive-use/lease-overrun)", "mutual-exclusion/mis-unlock"
	cell := func(expected string, v checker.Result) *results.Cell {
		return &results.Cell{Lock: "token", Scenario: "steady", Expected: expected, Observed: "x", Verdict: v}
	}
	saw := func(c *results.Cell) *results.Cell { c.Observed = "another"; return c }
	caught := cell(broken, checker.Pass)
	caught.Planted = true
	missed := cell(broken, checker.Fail)
	missed.Planted = true
	for _, tt := range []struct {
		name    string
		was, is *results.Cell // nil: no such cell
		partly  bool          // cells were left out on purpose
		want    results.ChangeKind
		verdict checker.Result
	}{
		{"nothing has changed", cell(safe, checker.Pass), cell(safe, checker.Pass), false, "", checker.Pass},
		{"other causes are observed", cell(broken, checker.Pass), saw(cell(broken, checker.Pass)), false, results.Other, checker.Pass},
		{"it no longer is as expected", cell(safe, checker.Pass), cell(safe, checker.Fail), false, results.Broken, checker.Fail},
		{"it is as expected again", cell(safe, checker.Fail), cell(safe, checker.Pass), false, results.Fixed, checker.Pass},
		{"the expectation was lowered to the observation", cell(safe, checker.Pass), cell(broken, checker.Pass), false, results.Broken, checker.Fail},
		{"the lock holds now, and is expected to", cell(broken, checker.Pass), cell(safe, checker.Pass), false, results.Fixed, checker.Pass},
		{"a planted bug is missed", caught, missed, false, results.Broken, checker.Fail},
		{"a planted bug is caught", missed, caught, false, results.Fixed, checker.Pass},
		{"a new cell", nil, cell(safe, checker.Pass), false, results.Added, checker.Pass},
		{"a cell is gone", cell(safe, checker.Pass), nil, false, results.Gone, checker.Fail},
		{"a cell was left out on purpose", cell(safe, checker.Pass), nil, true, "", checker.Pass},
		{"a cell has no verdict", cell(safe, checker.Pass), cell(safe, checker.Inconclusive), false, results.Gone, checker.Fail},
		{"a cell that never applied is gone", cell(safe, checker.NotApplicable), nil, false, "", checker.Pass},
	} {
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
			if said := len(s.Notes) > 0; said != (tt.partly && tt.is == nil) {
				t.Errorf("notes %q", s.Notes)
			}
			if got != tt.want || s.Verdict != tt.verdict {
				t.Errorf("%+v, %s; want %q, %s", s.Changes, s.Verdict, tt.want, tt.verdict)
			}
			if s.Exact(); (s.Verdict == checker.Fail) != (tt.want != "") {
				t.Errorf("exactly compared: %s with change %q", s.Verdict, tt.want)
			}
		})
	}
}

// A stored suite omits what differs from day to day, and the original is not modified.
func TestStoreSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	s := results.Suite{Duration: time.Second, Baseline: "old.json", Changes: []results.Change{{Lock: "token"}}, Notes: []string{"slow"},
		Cells: []results.Cell{{Lock: "token", Scenario: "steady", Observed: "safe", Verdict: checker.Pass, Run: "runs/1", Rerun: "again", Duration: time.Second,
			Properties: map[verdicts.Property]checker.Result{verdicts.Progress: checker.Pass}}}, Start: time.Unix(1, 0), Environment: &results.Environment{}}
	s.Judge()
	s.Sensitivity.Median = time.Second
	must(t, results.StoreSuite(path, s))
	got, err := results.LoadSuite(path)
	must(t, err)
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

// A saved suite is read back, and other files are refused.
func TestStoredSuites(t *testing.T) {
	folder := t.TempDir()
	s := results.Suite{Cells: []results.Cell{{Lock: "token", Scenario: "steady", Verdict: checker.Pass}}}
	s.Judge()
	must(t, results.SaveSuite(folder, s))
	got, err := results.LoadSuite(filepath.Join(folder, results.SuiteFile))
	if diff := cmp.Diff(s.Cells, got.Cells); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, text := range []string{"{}", "not JSON", `{"schema":"lockbench/run/v1"}`,
		// a misspelt verdict
		`{"schema":"lockbench/suite/v1","verdict":"pass","cells":[{"lock":"token","scenario":"steady","verdict":"pss"}]}`,
		`{"schema":"lockbench/suite/v1","verdict":"pass","cells":[{"lock":"token","scenario":"steady"}]}`, // none
	} {
		path := filepath.Join(folder, "other.json")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := results.LoadSuite(path); !errors.Is(err, results.ErrBaseline) || strings.Contains(text, "pss") && !strings.Contains(err.Error(), `unknown verdict "pss"; did you mean "pass"`) {
			t.Errorf("%s: %v, want ErrBaseline", text, err)
		}
	}
	if _, err := results.LoadSuite(filepath.Join(folder, "nothing.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A suite's directory can be moved: it stores the paths of its runs relative to itself, and
// LoadSuite resolves them.
func TestSuiteDirectory(t *testing.T) {
	base := t.TempDir()
	var folders []string
	for _, id := range []string{"a", "b"} { // within one second
		suite, err := results.Create(base, results.Name(time.Unix(100, 0), id, "suite"), false)
		must(t, err)
		folder := suite.Path()
		folders = append(folders, folder)
		d, err := results.Create(folder, results.Name(time.Unix(100, 0), id, "steady", "token"), false)
		must(t, err)
		must(t, d.SaveRun(results.Run{Lock: "token", Scenario: "steady", Phase: results.Started}))
		s := results.Suite{Rerun: id, Cells: []results.Cell{{Lock: "token", Scenario: "steady", Verdict: checker.Fail, Run: d.Path()}, {Verdict: checker.Pass, Lock: "lost", Run: "elsewhere/x"}}}
		s.Judge()
		must(t, results.SaveSuite(folder, s))
	}
	if folders[0] == folders[1] {
		t.Fatal("two suites share a directory")
	}
	moved := filepath.Join(t.TempDir(), "moved")
	must(t, os.Rename(folders[0], moved))
	for _, path := range []string{moved, filepath.Join(moved, results.SuiteFile)} {
		s, err := results.LoadSuite(path)
		if err != nil || s.Rerun != "a" || filepath.Dir(s.Cells[0].Run) != moved || s.Cells[1].Run != "elsewhere/x" {
			t.Errorf("%s: %+v, %v", path, s.Cells, err)
		}
		if _, err := os.Stat(filepath.Join(s.Cells[0].Run, results.RunFile)); err != nil {
			t.Error(err)
		}
	}
	if s, err := results.LoadSuite(base); err != nil || s.Rerun != "b" {
		t.Errorf("the latest: %q, %v", s.Rerun, err)
	}
}
