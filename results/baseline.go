package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
)

// SuiteFile is the file of a suite in its directory.
const SuiteFile = "suite.json"

// ErrBaseline: a file is no stored suite.
var ErrBaseline = errors.New("not a stored suite")

// ChangeKind says how a cell differs from what it was.
type ChangeKind string

// The kinds of change.
const (
	Broken ChangeKind = "newly broken" // it held, or broke as expected, and does not any more; a planted bug was caught and is missed
	Fixed  ChangeKind = "newly fixed"
	Added  ChangeKind = "new"
	Gone   ChangeKind = "gone" // it came to a verdict, and was not run or came to none
)

// Change is a cell that is not what it was.
type Change struct {
	Lock     string     `json:"lock"`
	Scenario string     `json:"scenario"`
	Change   ChangeKind `json:"change"`
	Was      string     `json:"was,omitempty"` // observed then
	Is       string     `json:"is,omitempty"`  // observed now
}

// LoadSuite reads a stored suite: the output of "suite -o json", the directory of a suite, or a directory of runs of which the latest is
// one. The run directories of its cells are given relative to the working directory. The errors are ErrBaseline and those of
// the file system.
func LoadSuite(path string) (Suite, error) {
	path = suiteFile(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return Suite{}, fmt.Errorf("stored suite: %w", err)
	}
	var s Suite
	if err := json.Unmarshal(data, &s); err != nil {
		return Suite{}, fmt.Errorf("%s: %w: %w", path, ErrBaseline, err)
	}
	if s.Schema != SuiteSchema {
		return Suite{}, fmt.Errorf("%s: %w: its schema is %q, want %s", path, ErrBaseline, s.Schema, SuiteSchema)
	}
	for i, c := range s.Cells {
		if beside := filepath.Join(filepath.Dir(path), c.Run); c.Run != "" && isRun(beside) {
			s.Cells[i].Run = beside
		}
	}
	return s, nil
}

// suiteFile finds the file of a suite in its directory, or by the link to the latest run.
func suiteFile(path string) string {
	for _, try := range []string{filepath.Join(path, SuiteFile), filepath.Join(path, latest, SuiteFile)} {
		if _, err := os.Stat(try); err == nil {
			return try
		}
	}
	return path
}

// isRun reports whether there is a run directory.
func isRun(path string) bool {
	_, err := os.Stat(filepath.Join(path, RunFile))
	return err == nil
}

// StoreSuite writes of a suite what is the same on every machine and every day, so that the file can be kept beside the code and compared with:
// cells, verdicts and caught bugs, without run directories, times and what it was compared with itself.
func StoreSuite(path string, s Suite) error {
	s.Duration, s.Agreement, s.Baseline, s.Changes, s.Notes = 0, nil, "", nil, nil
	s.Start, s.Environment = time.Time{}, nil
	s.Sensitivity.Median = 0
	s.Cells = slices.Clone(s.Cells)
	for i := range s.Cells {
		s.Cells[i].Run, s.Cells[i].Rerun, s.Cells[i].Duration, s.Cells[i].Properties = "", "", 0, nil
	}
	return writeSuite(path, s)
}

func writeSuite(path string, s Suite) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return replace(path, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err })
}

// SaveSuite writes a suite into its directory. Runs are named as they are found from there, so that the directory can be
// moved with them.
func SaveSuite(folder string, s Suite) error {
	s.Cells = slices.Clone(s.Cells)
	for i, c := range s.Cells {
		if rel, err := filepath.Rel(folder, c.Run); err == nil && c.Run != "" && isRun(c.Run) {
			s.Cells[i].Run = rel
		}
	}
	return writeSuite(filepath.Join(folder, SuiteFile), s)
}

// SaveFile puts a file into a directory whole: it is either the old one or the new one, whenever the process is killed.
func SaveFile(path string, write func(io.Writer) error) error {
	if err := replace(path, write); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return nil
}

// Against compares the suite with an earlier one and fails when a cell got worse. whole tells that no cell was left out on purpose: only
// then is a cell of the earlier suite that was not run a change.
func (s *Suite) Against(base Suite, whole bool) {
	s.Changes = []Change{}
	before := byPlace(base.Cells)
	for _, c := range s.Cells {
		was, known := before[place(c)]
		delete(before, place(c))
		if kind := change(was, c, known); kind != "" && (kind != Gone || whole) {
			s.Changes = append(s.Changes, Change{c.Lock, c.Scenario, kind, was.Observed, c.Observed})
		}
	}
	for _, was := range base.Cells {
		if _, left := before[place(was)]; left && whole && decided(was) {
			s.Changes = append(s.Changes, Change{Lock: was.Lock, Scenario: was.Scenario, Change: Gone, Was: was.Observed})
		}
	}
	for _, c := range s.Changes {
		if c.Change == Broken || c.Change == Gone {
			s.Verdict = checker.Fail
		}
	}
}

func place(c Cell) [2]string { return [2]string{c.Lock, c.Scenario} }

func byPlace(cells []Cell) map[[2]string]Cell {
	out := map[[2]string]Cell{}
	for _, c := range cells {
		out[place(c)] = c
	}
	return out
}

// change tells how a cell differs; "" when it does not, or when neither came to a verdict.
func change(was, is Cell, known bool) ChangeKind {
	then, now := standing(was), standing(is)
	switch {
	case now == unknown && known && then > unknown:
		return Gone
	case now == unknown:
		return ""
	case !known || then == unknown:
		return Added
	case now < then:
		return Broken
	case now > then:
		return Fixed
	}
	return ""
}

// How good a cell is. That a lock is expected to break, and does, is worse than that it is expected to hold, and does: an expectation that
// was lowered to what is seen is a change for the worse as well.
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
