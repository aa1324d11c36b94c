package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// sections are the parts of the pages that are made from the catalogue, the scenarios or the stored
// suite.
var sections = map[string]func(*testing.T) string{
	"choose":   chooseTable,
	"survives": survivesTable,
	"locks":    lockPages,
	"picture":  picture,
}

// baselineSuite is the suite that the repository keeps.
func baselineSuite(t *testing.T) results.Suite {
	t.Helper()
	suite, err := results.LoadSuite(moduleRoot + "results/baseline/suite-sim.json")
	must(t, err)
	for i, c := range suite.Cells { // a stored suite has no verdicts of properties, from which a cell would know
		v, _ := catalogue.Find(c.Lock)
		suite.Cells[i].Fences = v.Traits.Fenced
	}
	return suite
}

// storedBenchFile is where the bench lies that the repository keeps.
const storedBenchFile = moduleRoot + "results/baseline/bench.json"

func baselineBench(t *testing.T) results.Bench {
	t.Helper()
	b, err := results.LoadBench(storedBenchFile)
	must(t, err)
	return b
}

// ending is what a cell comes to in words; what does harm is bold.
func ending(c results.Cell) string {
	e := c.Ending()
	if e == results.Two || e == results.Stuck {
		return "**" + string(e) + "**"
	}
	return string(e)
}

// chooseTable returns the locks that one may adopt, and what a hold costs with eight clients;
// survivesTable all locks, those that end alike in one row.
func chooseTable(t *testing.T) string {
	rows := endings(t, []string{"set-nx-ex", "token", "fenced", "fair", "handoff", "redisson", "redlock", "rw-lease",
		"redsync", "redislock-normalised", "rueidislock"})
	all := sameInAllRows(rows)
	rows[0], rows[1] = append(rows[0], "requests", "trips"), append(rows[1], "--:", "--:")
	costs := map[string]results.BenchCell{}
	for _, c := range baselineBench(t).Cells {
		if c.Setting.Clients == 8 {
			costs[c.Lock] = c
		}
	}
	for i := range rows[2:] {
		row := &rows[i+2]
		c, ok := costs[strings.Trim((*row)[0], "`")]
		if !ok {
			t.Errorf("the stored bench has no lock %s", (*row)[0])
		}
		*row = append(*row, report.Figure(c.Figures["requests"]), measured(c.Figures["hand-over.trips.p50"]))
	}
	return table(rows) + "\nAll the same: " + strings.Join(all, ", ") + ".\n"
}

// sameInAllRows takes the columns in which all locks end alike out of a table, and returns what each
// of them said.
func sameInAllRows(rows [][]string) (said []string) {
	for column := len(rows[0]) - 1; column > 0; column-- {
		same := !slices.ContainsFunc(rows[2:], func(row []string) bool { return row[column] != rows[2][column] })
		if !same {
			continue
		}
		said = append(said, fmt.Sprintf("%s (%s)", rows[0][column], rows[2][column]))
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	slices.Reverse(said)
	return said
}

// measured is a figure; "–" if its interval is wider than its value.
func measured(f results.Figure) string {
	if f.Value != nil && f.Low != nil && f.High != nil && *f.High-*f.Low > *f.Value {
		return "–"
	}
	return report.Figure(f)
}

func survivesTable(t *testing.T) string {
	var all []string
	for _, v := range catalogue.Locks() {
		all = append(all, v.Name)
	}
	return table(alike(endings(t, all)))
}

// alike joins the rows that differ only in the lock.
func alike(rows [][]string) (out [][]string) {
	for _, row := range rows {
		at := slices.IndexFunc(out, func(o []string) bool { return slices.Equal(o[1:], row[1:]) })
		if at < 0 || strings.HasPrefix(row[0], "---") {
			out = append(out, row)
			continue
		}
		out[at][0] += ", " + row[0]
	}
	return out
}

// endings is how the scenarios of the questions end, a row for each lock under a head and a rule.
func endings(t *testing.T, locks []string) [][]string {
	t.Helper()
	observed := map[[2]string]string{}
	for _, c := range baselineSuite(t).Cells {
		observed[[2]string{c.Lock, c.Scenario}] = ending(c)
	}
	head, rule := []string{"lock"}, []string{"---"}
	for _, q := range report.Questions() {
		head, rule = append(head, q.Head), append(rule, "---")
	}
	rows := [][]string{head, rule}
	for _, lock := range locks {
		row := []string{"`" + lock + "`"}
		for _, q := range report.Questions() {
			cell, ok := observed[[2]string{lock, q.Scenario}]
			if !ok {
				t.Errorf("the stored suite has no cell %s × %s", lock, q.Scenario)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// table writes a Markdown table; the first two rows are its head and its rule.
func table(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// picture is the story and the drawing of the first violation of the README's example.
func picture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	runCommand(t, dir, "run --lock set-nx-ex --scenario pause-before-release --server sim --seed 1 # exit 1")
	data, err := os.ReadFile(filepath.Join(dir, "results/runs/latest", results.ViolationsPath, "001.txt"))
	must(t, err)
	_, story, _ := strings.Cut(string(data), "\n\n")
	story, _, ok := strings.Cut(story, "\n\noperations")
	if !ok {
		t.Fatalf("the first violation has no story:\n%s", data)
	}
	return "```text\n" + story + "\n```"
}
