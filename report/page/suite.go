package page

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

type suiteView struct {
	Suite     results.Suite
	Summary   string
	Scenarios []string
	Rows      []matrixRow
	Planted   []matrixCell
	Odd       []matrixCell
	Facts     [][2]string
}

type matrixRow struct {
	Lock  string
	Cells []matrixCell
}

// matrixCell is one cell of the matrix; Mark is "" if the suite has no such cell.
type matrixCell struct {
	results.Cell
	Mark, Class, Tell, Link string
}

// Suite writes the page of a suite in a directory. files is the path from the page to that directory; "" for no links to runs.
func Suite(w io.Writer, s results.Suite, dir, files string) error {
	v := &suiteView{Summary: report.Clean(report.SuiteSummary(s)), Facts: [][2]string{}}
	if s.Environment != nil {
		v.Facts = environmentFacts(report.Clean(*s.Environment))
	}
	links := make([]string, len(s.Cells))
	for i, c := range s.Cells {
		links[i] = linkTo(c, dir, files)
	}
	v.Suite = report.Clean(s)
	v.arrange(links)
	return write(w, report.Headline(s.Verdict)+": suite on "+v.Suite.Server, "suite", v, data{Charts: map[string]chart{}})
}

// linkTo returns the path of the page of a cell's run relative to the suite's page.
func linkTo(c results.Cell, dir, files string) string {
	if c.Run == "" || files == "" {
		return ""
	}
	rel, err := filepath.Rel(dir, c.Run)
	if _, there := os.Stat(filepath.Join(c.Run, results.RunFile)); err != nil || there != nil {
		return ""
	}
	return path.Join(filepath.ToSlash(files), filepath.ToSlash(rel), results.ReportFile)
}

// arrange builds the matrix, in the order of the cells, and lists the cells that are not as expected.
func (v *suiteView) arrange(links []string) {
	for _, c := range v.Suite.Cells {
		if !c.Planted && !slices.Contains(v.Scenarios, c.Scenario) {
			v.Scenarios = append(v.Scenarios, c.Scenario)
		}
	}
	for i, c := range v.Suite.Cells {
		cell := matrixCell{Cell: c, Link: links[i], Tell: tell(c)}
		cell.Mark, cell.Class = look(c)
		if c.Verdict == checker.Fail || c.Verdict == checker.Inconclusive {
			v.Odd = append(v.Odd, cell)
		}
		if c.Planted {
			v.Planted = append(v.Planted, cell)
			continue
		}
		n := slices.IndexFunc(v.Rows, func(r matrixRow) bool { return r.Lock == c.Lock })
		if n < 0 {
			n = len(v.Rows)
			v.Rows = append(v.Rows, matrixRow{Lock: c.Lock, Cells: make([]matrixCell, len(v.Scenarios))})
		}
		v.Rows[n].Cells[slices.Index(v.Scenarios, c.Scenario)] = cell
	}
}

func look(c results.Cell) (mark, class string) {
	switch c.Verdict {
	case checker.Pass:
		if c.Observed == "safe" {
			return "·", "c-holds"
		}
		return "x", "c-breaks"
	case checker.Fail:
		return "!", "c-differs"
	case checker.NotApplicable:
		return "–", "c-na"
	}
	return "?", "c-unclear"
}

func tell(c results.Cell) string {
	words := []string{fmt.Sprintf("%s × %s: ", c.Lock, c.Scenario)}
	switch {
	case c.Verdict == checker.NotApplicable:
		words = append(words, "does not apply: ", c.Why)
	case c.Verdict == checker.Pass && c.Observed == "safe":
		words = append(words, "holds, as expected")
	case c.Verdict == checker.Pass:
		words = append(words, "breaks as expected: ", c.Observed)
	default:
		words = append(words, string(c.Verdict), ": ", c.Why, "; expected ", c.Expected, ", observed ", c.Observed)
	}
	if c.Rerun != "" {
		words = append(words, ". Command: ", c.Rerun)
	}
	return strings.Join(words, "")
}
