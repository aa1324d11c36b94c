package report

import (
	"fmt"
	"slices"
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

// mostTold is the most locks of which the screen tells in which scenarios they break; of more the
// page does.
const mostTold = 10

// matrixLines shows the cells of locks in words: all of them where they fit; otherwise those of the
// README's questions, and where each lock breaks.
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
		return append(append(append([]string{""}, lines...), ""), legend(locks, s)...)
	}
	if lines = m.words(Asked(locks), s); lines != nil {
		lines = append([]string{"", "the faults that people ask about"}, lines...)
	}
	if len(m.locks) > mostTold {
		return append(append(lines, ""), legend(locks, s)...)
	}
	lines = append(lines, "", "every scenario")
	width := m.lockWidth()
	for _, lock := range m.locks { // the scenarios that end otherwise than well, the worst first
		by := map[results.Ending][]string{}
		for _, name := range m.scenarios {
			if c, ok := m.cells[[2]string{lock, name}]; ok {
				by[c.Ending()] = append(by[c.Ending()], marked(c, name))
			}
		}
		var words []string
		for _, e := range results.Endings() {
			switch n := len(by[e]); {
			case n > 0 && e == results.Holds:
				words = append(words, fmt.Sprintf("%s in %d", e, n))
			case n > 0 && e != results.NotRun:
				words = append(words, fmt.Sprintf("%s: %s", e, strings.Join(by[e], ", ")))
			}
		}
		lines = append(lines, wrapped(fmt.Sprintf("%-*s ", width, lock), strings.Join(words, "; "))...)
	}
	return append(append(lines, ""), legend(locks, s)...)
}

// leastOfName is how many characters of a lock's name are kept for the sake of a matrix.
const leastOfName = 18

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
	if cut := total - screen; cut > 0 {
		if width -= cut; width < leastOfName {
			return nil
		}
		head = head[cut:]
	}
	lines = []string{strings.TrimRight(head, " ")}
	for _, lock := range m.locks {
		line, pad := padded(Short(lock, width), width), 1
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

// Question is a scenario that somebody who chooses a lock asks about.
type Question struct {
	Scenario string
	Head     string // of its column
	Asks     string // the same in a few words
}

// Questions returns the scenarios of the README's table, in its order.
func Questions() []Question {
	return []Question{
		{"crash-holder", "crash", "the holder crashes"},
		{"pause-holder", "stall", "the holder stalls past its lease"},
		{"slow-work", "long work", "the work takes longer than the lease"},
		{"lost-reply-acquire", "reply", "the reply to an acquire is lost"},
		{"kill-server", "data loss", "the server loses its data"},
		{"failover", "failover", "a replica without the key takes over"},
		{"clock-jump", "clock", "the server's clock jumps"},
	}
}

// Asked returns the questions that a suite answers.
func Asked(cells []results.Cell) []Question {
	return slices.DeleteFunc(Questions(), func(q Question) bool {
		return !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Scenario == q.Scenario })
	})
}

// endingsOf returns how some cells ended, the worst first.
func endingsOf(cells []results.Cell) []results.Ending {
	return slices.DeleteFunc(results.Endings(), func(e results.Ending) bool {
		return !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Ending() == e })
	})
}
