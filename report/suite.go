package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// The symbols of the matrix.
const (
	symbolSafe    = "."
	symbolBroken  = "x"
	symbolDiffers = "!"
	symbolUnclear = "?"
	symbolNA      = "-"
)

const legend = symbolSafe + " holds, as expected   " + symbolBroken + " breaks, as expected   " + symbolDiffers +
	" differs from the expectation   " + symbolUnclear + " inconclusive   " + symbolNA + " does not apply"

// Suite writes a suite's verdict, its matrix, the cells that are not as expected by name, and its sensitivity.
func Suite(w io.Writer, suite results.Suite, s Style) error {
	locks, planted := locksAndPlanted(suite.Cells)
	lines := []string{s.verdict(suite.Verdict, headline(suite.Verdict)) + "  " + suiteSummary(suite)}
	if m := newMatrix(locks); len(locks) > 0 {
		lines = append(lines, m.text(s)...)
		lines = append(lines, "", legend)
		lines = append(lines, m.columnNames()...)
	}
	lines = append(lines, plantedLines(planted, s)...)
	lines = append(lines, oddCells(suite.Cells, s)...)
	lines = append(lines, changeLines(suite, s)...)
	lines = append(lines, "", "sensitivity  "+sensitivityText(suite.Sensitivity))
	lines = append(lines, agreementLines(suite.Agreement, s)...)
	for _, n := range suite.Notes {
		lines = append(lines, s.paint(orange, "note")+"         "+n)
	}
	return write(w, append(lines, "again        "+suite.Rerun))
}

func suiteSummary(suite results.Suite) string {
	n := map[checker.Result]int{}
	for _, c := range suite.Cells {
		n[c.Verdict]++
	}
	run := len(suite.Cells) - n[checker.NotApplicable]
	took := ""
	if suite.Duration > 0 { // a stored suite has none
		took = ", " + Span(suite.Duration)
	}
	return fmt.Sprintf("%s of %s as expected, %s not, %s inconclusive  (%s, seed %d%s)", count(n[checker.Pass]), plural(run, "cell"),
		count(n[checker.Fail]), count(n[checker.Inconclusive]), suite.Server, suite.Seed, took)
}

// oddCells lists what is not as expected, each with both sides and where it lies.
func oddCells(cells []results.Cell, s Style) []string {
	var lines []string
	for _, c := range cells {
		if c.Verdict != checker.Fail && c.Verdict != checker.Inconclusive {
			continue
		}
		lines = append(lines, "", fmt.Sprintf("%s  %s × %s: %s", s.verdict(c.Verdict, word(c.Verdict)), c.Lock, c.Scenario, c.Why),
			"      expected  "+c.Expected, "      observed  "+c.Observed)
		if c.Run != "" {
			lines = append(lines, "      run       "+c.Run)
		}
	}
	return lines
}

// agreementLines says in how many cells a suite agrees with another, and names those in which it does not.
func agreementLines(a *results.Agreement, s Style) []string {
	if a == nil {
		return nil
	}
	lines := []string{"agreement    " + agreementText(*a)}
	for _, d := range a.Differences {
		lines = append(lines, "", fmt.Sprintf("%s  %s × %s, expected %s", s.paint(orange, "differ"), d.Lock, d.Scenario, d.Expected),
			"        there  "+d.First, "        here   "+d.Second)
	}
	if len(a.Differences) > 0 {
		lines = append(lines, "")
	}
	return lines
}

func agreementText(a results.Agreement) string {
	text := fmt.Sprintf("with the suite on %s: %s in both, %s hold in both or break in both, %s of them by the same properties and causes", a.With,
		plural(a.Cells, "cell"), count(a.Agree), count(a.Alike))
	if n := len(a.Differences); n > 0 {
		text += fmt.Sprintf("; %s", plural(n, "difference"))
	}
	return text
}

// matrix lays cells out by variant and scenario, in the order in which they first come.
type matrix struct {
	locks, scenarios []string
	cells            map[[2]string]results.Cell
}

func newMatrix(cells []results.Cell) matrix {
	m := matrix{cells: map[[2]string]results.Cell{}}
	for _, c := range cells {
		if !slices.Contains(m.locks, c.Lock) {
			m.locks = append(m.locks, c.Lock)
		}
		if !slices.Contains(m.scenarios, c.Scenario) {
			m.scenarios = append(m.scenarios, c.Scenario)
		}
		m.cells[[2]string{c.Lock, c.Scenario}] = c
	}
	return m
}

func symbol(c results.Cell) string {
	switch c.Verdict {
	case checker.Pass:
		if c.Observed == "safe" {
			return symbolSafe
		}
		return symbolBroken
	case checker.Fail:
		return symbolDiffers
	case checker.NotApplicable:
		return symbolNA
	}
	return symbolUnclear
}

// columns is how many scenarios stand side by side: more would not fit a screen.
const columns = 27

// text is a row for each variant under numbered columns: the names of the scenarios would not fit a screen. Of scenarios beyond the first
// columns there is a second matrix, of the variants that have to do with them.
func (m matrix) text(s Style) (lines []string) {
	for from := 0; from < len(m.scenarios); from += columns {
		lines = append(lines, "")
		lines = append(lines, m.block(from, min(from+columns, len(m.scenarios)), s)...)
	}
	return lines
}

// block is the matrix of some scenarios, by their numbers.
func (m matrix) block(from, to int, s Style) []string {
	width := 0
	for _, lock := range m.locks {
		width = max(width, len(lock))
	}
	header := strings.Repeat(" ", width)
	for i := from; i < to; i++ {
		header += fmt.Sprintf("%3d", i+1)
	}
	lines := []string{header}
	for _, lock := range m.locks {
		if row := m.row(lock, m.scenarios[from:to], s); row != "" {
			lines = append(lines, fmt.Sprintf("%-*s", width, lock)+row)
		}
	}
	return lines
}

// row is a variant's marks; "" when it has none.
func (m matrix) row(lock string, scenarios []string, s Style) (line string) {
	for _, scenario := range scenarios {
		c, ok := m.cells[[2]string{lock, scenario}]
		mark := " "
		if ok {
			mark = s.verdict(c.Verdict, symbol(c))
		}
		line += "  " + mark
	}
	return strings.TrimRight(line, " ")
}

// columnNames explains the numbers, a few to a line.
func (m matrix) columnNames() []string {
	const perLine = 4
	var lines []string
	for i, name := range m.scenarios {
		if i%perLine == 0 {
			lines = append(lines, "")
		}
		lines[len(lines)-1] += fmt.Sprintf("%2d %-22s", i+1, name)
	}
	return lines
}
