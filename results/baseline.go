package results

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/internal/foreign"
)

// SuiteFile is the name of a suite's file in its directory.
const SuiteFile = "suite.json"

// ErrBaseline is returned for a file that is not a stored suite.
var ErrBaseline = errors.New("not a stored suite")

// ChangeKind is how a cell changed.
type ChangeKind string

// The kinds of change.
const (
	Broken ChangeKind = "newly broken" // it was as expected and no longer is, or a planted bug is missed now
	Fixed  ChangeKind = "newly fixed"
	Added  ChangeKind = "new"
	Gone   ChangeKind = "gone"  // it had a verdict, and has none now or was not run
	Other  ChangeKind = "other" // as expected then and now, but other properties broke, or for other causes
)

// Change is a cell that changed.
type Change struct {
	Lock     string     `json:"lock"`
	Scenario string     `json:"scenario"`
	Change   ChangeKind `json:"change"`
	Was      string     `json:"was,omitempty"` // observed before
	Is       string     `json:"is,omitempty"`  // observed now
}

// LoadSuite reads a stored suite: the output of "suite -o json", a suite's directory, or a
// directory of runs whose latest is a suite. It makes the cells' run directories relative to the
// working directory. Errors are ErrBaseline or come from the file system.
func LoadSuite(path string) (Suite, error) {
	path, _ = Stored(path, SuiteFile)
	var s Suite
	if err := loadStored(path, &s, &s.Schema, SuiteSchema, ErrBaseline); err != nil {
		return Suite{}, err
	}
	// A misspelt verdict would count as none. A cell needs one.
	known := []checker.Result{checker.Pass, checker.Fail, checker.Inconclusive, checker.NotApplicable}
	for _, c := range append([]Cell{{Lock: "the suite", Verdict: cmp.Or(s.Verdict, checker.Pass)}}, s.Cells...) {
		if !slices.Contains(known, c.Verdict) {
			return Suite{}, fmt.Errorf("%s: %w: %s: %s", path, ErrBaseline, strings.TrimSpace(c.Lock+" "+c.Scenario), foreign.Unknown("verdict", c.Verdict, known))
		}
	}
	for i, c := range s.Cells {
		if beside := filepath.Join(filepath.Dir(path), c.Run); c.Run != "" && isRun(beside) {
			s.Cells[i].Run = beside
		}
	}
	return s, nil
}

// Stored finds a file by its name in the directory path, in the latest one below it, or as path
// itself; ok reports whether it has that name.
func Stored(path, name string) (file string, ok bool) {
	for _, try := range []string{filepath.Join(path, name), filepath.Join(path, latest, name)} {
		if _, err := os.Stat(try); err == nil {
			return try, true
		}
	}
	return path, filepath.Base(path) == name
}

func isRun(path string) bool {
	_, err := os.Stat(filepath.Join(path, RunFile))
	return err == nil
}

// StoreSuite writes what is reproducible of a suite, for comparisons: no run directories, times or
// comparisons.
func StoreSuite(path string, s Suite) error {
	s.Duration, s.Baseline, s.Changes, s.Notes = 0, "", nil, nil
	s.Reached, s.NeverReached = nil, nil
	s.Start, s.Environment = time.Time{}, nil
	s.Sensitivity.Median = 0
	s.Cells = slices.Clone(s.Cells)
	for i := range s.Cells {
		s.Cells[i].Run, s.Cells[i].Rerun, s.Cells[i].Duration, s.Cells[i].Properties = "", "", 0, nil
	}
	return saveJSON(path, s)
}

// SaveSuite writes a suite into its directory, with the paths of its runs relative to it, so that
// the directory can be moved.
func SaveSuite(folder string, s Suite) error {
	s.Cells = slices.Clone(s.Cells)
	for i, c := range s.Cells {
		if rel, err := filepath.Rel(folder, c.Run); err == nil && c.Run != "" && isRun(c.Run) {
			s.Cells[i].Run = rel
		}
	}
	return saveJSON(filepath.Join(folder, SuiteFile), s)
}

// Against compares the suite with an earlier one, and fails it if a cell got worse. A missing cell
// counts only if whole: every cell was to run; otherwise a note says how many are missing.
func (s *Suite) Against(base Suite, whole bool) {
	s.Changes = []Change{}
	before := map[[2]string]Cell{}
	for _, c := range base.Cells {
		before[place(c)] = c
	}
	for _, c := range s.Cells {
		was, known := before[place(c)]
		delete(before, place(c))
		then, now, kind := standing(was), standing(c), ChangeKind("") // "": it did not change, or neither has a verdict
		switch {
		case now == unknown && known && then > unknown:
			kind = Gone
		case now == unknown:
		case !known || then == unknown:
			kind = Added
		case now < then:
			kind = Broken
		case now > then:
			kind = Fixed
		case was.Observed != c.Observed:
			kind = Other
		}
		if kind != "" && (kind != Gone || whole) {
			s.Changes = append(s.Changes, Change{c.Lock, c.Scenario, kind, was.Observed, c.Observed})
		}
	}
	left := 0
	for _, was := range base.Cells {
		if _, missing := before[place(was)]; !missing || standing(was) == unknown {
			continue
		}
		if left++; whole {
			s.Changes = append(s.Changes, Change{Lock: was.Lock, Scenario: was.Scenario, Change: Gone, Was: was.Observed})
		}
	}
	if left > 0 && !whole {
		s.Notes = append(s.Notes, fmt.Sprintf("cells of the baseline that were not run, and not compared: %d", left))
	}
	for _, c := range s.Changes {
		if c.Change == Broken || c.Change == Gone {
			s.Verdict = checker.Fail
		}
	}
}

func place(c Cell) [2]string { return [2]string{c.Lock, c.Scenario} }

// Exact fails the suite if a cell changed in any way, which one repeated in the simulator does not.
func (s *Suite) Exact() {
	if len(s.Changes) > 0 {
		s.Verdict = checker.Fail
	}
}

// The rank of a cell. Breaking as expected ranks below holding as expected: a lowered expectation
// is a change for the worse.
const (
	unknown = iota
	differs
	breaks
	holds
)

func standing(c Cell) int {
	switch {
	case c.Verdict == checker.Fail:
		return differs
	case c.Verdict != checker.Pass:
		return unknown
	case c.Planted || strings.HasPrefix(c.Expected, "safe"):
		return holds
	}
	return breaks
}
