package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
)

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

// matrixLines shows the cells of locks: in words where they fit; otherwise the questions of the
// README in words, and every scenario in letters.
func matrixLines(locks []results.Cell, s Style) []string {
	if len(locks) == 0 {
		return nil
	}
	m := newMatrix(locks)
	all := make([]Question, len(m.scenarios))
	for i, name := range m.scenarios {
		all[i] = Question{Scenario: name, Head: name}
	}
	lines := m.words(all, s)
	if lines != nil {
		return append(append(append([]string{""}, lines...), ""), legend(locks, false, s)...)
	}
	if lines = m.words(Asked(locks), s); lines != nil {
		lines = append([]string{"", "the faults that people ask about"}, lines...)
		lines = append(lines, "", "every scenario")
	}
	lines = append(lines, m.text(s)...)
	lines = append(append(lines, ""), legend(locks, true, s)...)
	return append(append(lines, ""), m.columnNames()...)
}

// words returns the matrix of the given columns in words; nil if it is wider than the screen.
func (m matrix) words(columns []Question, s Style) (lines []string) {
	if len(columns) == 0 {
		return nil
	}
	width := m.lockWidth()
	widths := make([]int, len(columns))
	total, head := width, strings.Repeat(" ", width)
	for i, q := range columns {
		widths[i] = utf8.RuneCountInString(q.Head)
		for _, lock := range m.locks {
			if c, ok := m.cells[[2]string{lock, q.Scenario}]; ok {
				widths[i] = max(widths[i], utf8.RuneCountInString(marked(c, string(c.Ending()))))
			}
		}
		total, head = total+1+widths[i], head+fmt.Sprintf(" %-*s", widths[i], q.Head)
	}
	if total > screen {
		return nil
	}
	lines = []string{strings.TrimRight(head, " ")}
	for _, lock := range m.locks {
		line, pad := fmt.Sprintf("%-*s", width, lock), 1
		for i, q := range columns {
			c, ok := m.cells[[2]string{lock, q.Scenario}]
			word := ""
			if ok {
				word = marked(c, string(c.Ending()))
				line += strings.Repeat(" ", pad) + s.ending(c.Ending(), word)
				pad = 1
			} else {
				pad++
			}
			pad += widths[i] - utf8.RuneCountInString(word)
		}
		lines = append(lines, line)
	}
	return lines
}

// marked adds the mark of a cell that is not as expected.
func marked(c results.Cell, word string) string {
	if Unexpected(c) && c.Ending() != results.Unclear {
		return word + differs
	}
	return word
}

func (m matrix) lockWidth() (width int) {
	for _, lock := range m.locks {
		width = max(width, utf8.RuneCountInString(lock))
	}
	return width
}

// markWidth is the width of a scenario's column of letters.
const markWidth = 2

// text returns a row per lock under numbered columns, in as many blocks as the screen requires; a
// block has the locks with a cell in it.
func (m matrix) text(s Style) (lines []string) {
	width := m.lockWidth()
	columns := max(1, (screen-width)/markWidth)
	for from := 0; from < len(m.scenarios); from += columns {
		if from > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, m.block(from, min(from+columns, len(m.scenarios)), width, s)...)
	}
	return lines
}

// block returns the matrix of the scenarios in [from, to). Column numbers are upright: tens above
// ones.
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
			mark = s.ending(c.Ending(), letters[c.Ending()])
			if marked(c, "") != "" {
				mark = s.verdict(c.Verdict, differs)
			}
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
