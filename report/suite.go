package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

const legend = symbolSafe + " holds, as expected   " + symbolBroken + " breaks, as expected   " + symbolNA + " does not apply   " +
	symbolUnclear + " inconclusive\n" + symbolDiffers + " differs from the expectation"

// Suite writes a suite's verdict, its matrix, the cells that are not as expected, its sensitivity, and the path of its page ("" = none).
func Suite(w io.Writer, suite results.Suite, page string, s Style) error {
	suite, page = Clean(suite), Clean(page)
	locks, planted := locksAndPlanted(suite.Cells)
	lines := wrapped(Headline(suite.Verdict)+"  ", SuiteSummary(suite))
	lines[0] = s.verdict(suite.Verdict, Headline(suite.Verdict)) + strings.TrimPrefix(lines[0], Headline(suite.Verdict))
	if m := newMatrix(locks); len(locks) > 0 {
		lines = append(lines, m.text(s)...)
		lines = append(lines, "", legend)
		lines = append(lines, m.columnNames()...)
	}
	lines = append(lines, plantedLines(planted, s)...)
	lines = append(lines, oddCells(suite.Cells, s)...)
	lines = append(lines, changeLines(suite, s)...)
	lines = append(append(lines, ""), wrapped("sensitivity  ", sensitivityText(suite.Sensitivity))...)
	lines = append(lines, agreementLines(suite.Agreement, s)...)
	for _, n := range suite.Notes {
		lines = append(lines, noted(13, n, s)...)
	}
	if page != "" {
		lines = append(lines, "report       "+page)
	}
	return write(w, append(lines, again("again        ", suite.Rerun)...))
}

// SuiteSummary returns the line under a suite's verdict: how many cells are as expected, on which servers, with which seed.
func SuiteSummary(suite results.Suite) string {
	n := map[checker.Result]int{}
	for _, c := range suite.Cells {
		n[c.Verdict]++
	}
	run := len(suite.Cells) - n[checker.NotApplicable]
	took := ""
	if suite.Duration > 0 { // a stored suite has none
		took = ", " + Span(suite.Duration)
	}
	text := fmt.Sprintf("%s of %s as expected, %s not, %s inconclusive", count(n[checker.Pass]), Plural(run, "cell"),
		count(n[checker.Fail]), count(n[checker.Inconclusive]))
	if suite.Missing > 0 {
		text += fmt.Sprintf(", %s not run", count(suite.Missing))
	}
	if suite.Shard != nil {
		text += ", shard " + suite.Shard.String()
	}
	return fmt.Sprintf("%s  (%s, seed %d%s)", text, suite.Server, suite.Seed, took)
}

// oddCells lists the cells that are not as expected, and those that do not apply when no other was run.
func oddCells(cells []results.Cell, s Style) []string {
	var lines []string
	ran := slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Verdict != checker.NotApplicable })
	for _, c := range cells {
		if c.Verdict == checker.NotApplicable && !ran {
			lines = append(append(lines, ""), wrapped("n/a   ", fmt.Sprintf("%s × %s: %s", c.Lock, c.Scenario, c.Why))...)
			continue
		}
		if c.Verdict != checker.Fail && c.Verdict != checker.Inconclusive {
			continue
		}
		head := s.verdictWord(c.Verdict, wrapped(word(c.Verdict)+"  ", fmt.Sprintf("%s × %s: %s", c.Lock, c.Scenario, c.Why)))
		lines = append(append(append(append(lines, ""), head...), wrapped("      expected  ", c.Expected)...),
			wrapped("      observed  ", c.Observed)...)
		if c.Run != "" {
			lines = append(lines, "      run       "+c.Run)
		}
	}
	return lines
}

// agreementLines describes the agreement with another suite, and lists the cells that differ.
func agreementLines(a *results.Agreement, s Style) []string {
	if a == nil {
		return nil
	}
	lines := wrapped("agreement    ", agreementText(*a))
	for _, d := range a.Differences {
		head := labelled("differ", 8, fmt.Sprintf("%s × %s, expected %s", d.Lock, d.Scenario, d.Expected), s)
		lines = append(append(append(append(lines, ""), head...), wrapped("        there  ", d.First)...), wrapped("        here   ", d.Second)...)
	}
	if len(a.Differences) > 0 {
		lines = append(lines, "")
	}
	return lines
}

func agreementText(a results.Agreement) string {
	text := fmt.Sprintf("with the suite on %s: %s in both, %s hold in both or break in both, %s of them by the same properties and causes", a.With,
		Plural(a.Cells, "cell"), count(a.Agree), count(a.Alike))
	if n := len(a.Differences); n > 0 {
		text += fmt.Sprintf("; %s", Plural(n, "difference"))
	}
	return text
}

// matrix arranges cells by lock and scenario, in order of first appearance.
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

// markWidth is the width of a scenario's column.
const markWidth = 2

// text returns a row per lock under numbered columns, in as many blocks as the screen requires; a block has the locks with a cell in it.
func (m matrix) text(s Style) (lines []string) {
	width := 0
	for _, lock := range m.locks {
		width = max(width, utf8.RuneCountInString(lock))
	}
	columns := max(1, (screen-width)/markWidth)
	for from := 0; from < len(m.scenarios); from += columns {
		lines = append(lines, "")
		lines = append(lines, m.block(from, min(from+columns, len(m.scenarios)), width, s)...)
	}
	return lines
}

// block returns the matrix of the scenarios in [from, to). Column numbers are upright: tens above ones.
func (m matrix) block(from, to, width int, s Style) []string {
	tens, ones := strings.Repeat(" ", width), strings.Repeat(" ", width)
	for i := from + 1; i <= to; i++ {
		ten := " "
		if i >= 10 {
			ten = strconv.Itoa(i / 10 % 10)
		}
		tens, ones = tens+" "+ten, ones+" "+strconv.Itoa(i%10)
	}
	lines := []string{tens, ones}
	if to < 10 {
		lines = lines[1:]
	}
	for _, lock := range m.locks {
		if row := m.row(lock, m.scenarios[from:to], s); row != "" {
			lines = append(lines, fmt.Sprintf("%-*s", width, lock)+row)
		}
	}
	return lines
}

// row returns a lock's marks; "" if it has none.
func (m matrix) row(lock string, scenarios []string, s Style) (line string) {
	for _, scenario := range scenarios {
		mark := " "
		if c, ok := m.cells[[2]string{lock, scenario}]; ok {
			mark = s.verdict(c.Verdict, symbol(c))
		}
		line += " " + mark
	}
	return strings.TrimRight(line, " ")
}

// columnNames lists the scenarios by number.
func (m matrix) columnNames() []string {
	width := 0
	for _, name := range m.scenarios {
		width = max(width, utf8.RuneCountInString(name))
	}
	width += len("12 ") + 1
	perLine := max(1, (screen+1)/width)
	var lines []string
	for i, name := range m.scenarios {
		if i%perLine == 0 {
			lines = append(lines, "")
		}
		lines[len(lines)-1] += fmt.Sprintf("%-*s", width, fmt.Sprintf("%2d %s", i+1, name))
	}
	return lines
}

// locksAndPlanted separates the cells of locks from those of planted bugs.
func locksAndPlanted(cells []results.Cell) (locks, planted []results.Cell) {
	for _, c := range cells {
		if c.Planted {
			planted = append(planted, c)
		} else {
			locks = append(locks, c)
		}
	}
	return locks, planted
}

// plantedLines lists the planted bugs, each with the scenario that must show it and the break that did.
func plantedLines(planted []results.Cell, s Style) []string {
	if len(planted) == 0 {
		return nil
	}
	lock, scenario := 0, 0
	for _, c := range planted {
		lock, scenario = max(lock, len(c.Lock)), max(scenario, len(c.Scenario))
	}
	lines := []string{"", "planted bugs and the scenario that must show each"}
	for _, c := range planted {
		rows := wrapped(fmt.Sprintf("%-*s  %-*s  ", lock, c.Lock, scenario, c.Scenario), caught(c))
		for _, row := range rows {
			lines = append(lines, s.verdict(c.Verdict, row))
		}
	}
	return lines
}

// caught returns which of the expected breaks showed a planted bug.
func caught(c results.Cell) string {
	switch c.Verdict {
	case checker.Pass:
		return "caught by " + expectedOf(c)
	case checker.NotApplicable:
		return "not run: " + c.Why
	}
	return "missed"
}

// expectedOf returns the observed breaks that were expected, with their causes.
func expectedOf(c results.Cell) string {
	must, _ := pairs(c.Expected)
	seen := slices.DeleteFunc(strings.Fields(c.Observed), func(o string) bool {
		return !slices.ContainsFunc(must, func(want string) bool { return covers(want, o) })
	})
	return strings.Join(seen, " ")
}

func sensitivityText(x results.Sensitivity) string {
	if x.Planted == 0 {
		return "no planted bugs were run"
	}
	text := fmt.Sprintf("caught %d/%d planted bugs", x.Caught, x.Planted)
	if x.Caught > 0 {
		text += ", median " + Span(x.Median)
	}
	if len(x.Missed) > 0 {
		text += "; missed " + strings.Join(x.Missed, ", ")
	}
	return text
}
