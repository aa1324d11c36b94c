package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// suiteView is what the template of a suite shows.
type suiteView struct {
	data
	Suite        results.Suite
	Legend       []results.Ending
	Asked        *matrixView   // the scenarios that people ask about
	Matrix       []*matrixView // all scenarios: those of many locks, and those of few
	Unrun        []string      // the scenarios that these servers cannot run, or that fit no lock
	Planted, Odd []matrixCell
}

type matrixView struct {
	Class string
	Heads []report.Question
	Rows  [][]matrixCell
}

// matrixCell is one cell of the matrix. If the suite has no such cell, it has nothing but its lock.
type matrixCell struct {
	results.Cell
	Word  results.Ending
	Tell  string
	Link  string // of its run, if that was kept
	Scene string // link to its violation on this page, if there is one
}

// Suite writes the page of a suite in a directory. files is the path from the page to that
// directory; "" for no links to runs.
func Suite(w io.Writer, s results.Suite, dir, files string) error {
	scenes, err := readScenes(filepath.Join(dir, results.ScenesFile))
	if err != nil {
		return err
	}
	v := &suiteView{Suite: report.Clean(s)}
	if len(scenes) > 0 { // many cells tell much the same: compressed they are small
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if err := errors.Join(json.NewEncoder(z).Encode(scenes), z.Close()); err != nil {
			return err
		}
		v.Scenes = base64.StdEncoding.EncodeToString(b.Bytes())
	}
	cells := make([]matrixCell, len(s.Cells))
	for i, c := range v.Suite.Cells {
		m := matrixCell{Cell: c, Word: c.Ending(), Tell: tell(c)}
		if id := sceneID(c.Lock, c.Scenario); scenes[id] != nil {
			m.Scene = "#" + url.PathEscape(id)
		}
		if run := s.Cells[i].Run; run != "" && files != "" {
			rel, err := filepath.Rel(dir, run)
			if _, there := os.Stat(filepath.Join(run, results.RunFile)); err == nil && there == nil {
				m.Link = path.Join(filepath.ToSlash(files), filepath.ToSlash(rel), results.ReportFile)
			}
		}
		cells[i] = m
	}
	v.arrange(cells)
	return write(w, report.Headline(s.Verdict)+": suite on "+v.Suite.Server, "suite", v, v.data)
}

// few is the most locks that a scenario may have to stand in the second table, which is for
// scenarios that concern few locks.
const few = 8

// inView is how many scenarios stand side by side in a laptop's window.
const inView = 29

// arrange builds the tables, in the order of the cells, and lists the cells that are not as
// expected.
func (v *suiteView) arrange(all []matrixCell) {
	locks := map[string]int{} // that a scenario was run with
	var names []string
	var cells []matrixCell
	for _, c := range all {
		if report.Unexpected(c.Cell) {
			v.Odd = append(v.Odd, c)
		}
		if c.Planted {
			v.Planted = append(v.Planted, c)
			continue
		}
		cells = append(cells, c)
		if !slices.Contains(names, c.Scenario) {
			names = append(names, c.Scenario)
		}
		if c.Word != results.NotRun {
			locks[c.Scenario]++
		}
	}
	var many, rare []report.Question
	for _, name := range names {
		switch q := (report.Question{Scenario: name, Head: name}); {
		case locks[name] > few:
			many = append(many, q)
		case locks[name] > 0:
			rare = append(rare, q)
		default:
			v.Unrun = append(v.Unrun, name)
		}
	}
	if asked := report.Asked(v.Suite.Cells); len(asked) > 0 && len(asked) < len(names) {
		v.Asked = newMatrixView("asked", asked, cells)
	}
	for heads := range slices.Chunk(many, inView) {
		v.Matrix = append(v.Matrix, newMatrixView("all", heads, cells))
	}
	v.Legend = legendOf(cells)
	cells = slices.DeleteFunc(cells, func(c matrixCell) bool { return c.Word == results.NotRun })
	for heads := range slices.Chunk(rare, inView) { // with the locks that were run
		v.Matrix = append(v.Matrix, newMatrixView("all", heads, cells))
	}
}

// legendOf returns the endings of some cells, the worst first.
func legendOf(cells []matrixCell) []results.Ending {
	return slices.DeleteFunc(results.Endings(), func(e results.Ending) bool {
		return !slices.ContainsFunc(cells, func(c matrixCell) bool { return c.Word == e })
	})
}

// newMatrixView returns the table of some scenarios, with the locks that have a cell in it.
func newMatrixView(class string, heads []report.Question, cells []matrixCell) *matrixView {
	m := &matrixView{Class: class, Heads: heads}
	for _, c := range cells {
		at := slices.IndexFunc(heads, func(q report.Question) bool { return q.Scenario == c.Scenario })
		if at < 0 {
			continue
		}
		n := slices.IndexFunc(m.Rows, func(row []matrixCell) bool { return row[0].Lock == c.Lock })
		if n < 0 {
			n = len(m.Rows)
			m.Rows = append(m.Rows, slices.Repeat([]matrixCell{{Cell: results.Cell{Lock: c.Lock}}}, len(heads)))
		}
		m.Rows[n][at] = c
	}
	return m
}

// endingClass is the style of an ending, by its severity.
func endingClass(e results.Ending) string {
	return map[results.Ending]string{results.Stuck: "c-two", results.Two: "c-two", results.Late: "c-late", results.Broke: "c-late",
		results.LateSafe: "c-safe", results.Holds: "c-holds", results.NotRun: "c-na", results.Unclear: "c-unclear"}[e]
}

// tell is what the page says of a cell when somebody points at it.
func tell(c results.Cell) string {
	e := c.Ending()
	words := fmt.Sprintf("%s × %s: %s: %s", c.Lock, c.Scenario, e, e.About())
	switch worst := c.Worst(); {
	case c.Verdict == checker.NotApplicable:
		words += ": " + c.Why
	case worst != verdicts.Break{}:
		words += fmt.Sprintf(" (%s broken by %s)", worst.Property, worst.Cause)
	}
	if report.Unexpected(c) {
		words += fmt.Sprintf(". %s: %s; expected %s, observed %s", c.Verdict, c.Why, c.Expected, c.Observed)
	} else if c.Verdict == checker.Pass {
		words += ", as expected"
	}
	if c.Rerun != "" {
		words += ". Command: " + c.Rerun
	}
	return strings.TrimSuffix(words, ".")
}
