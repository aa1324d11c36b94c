package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// differs marks a cell that is not as expected.
const differs = "!"

// legend explains the words of a matrix; only those that it has, the worst first.
func legend(cells []results.Cell, s Style) (lines []string) {
	for _, e := range endingsOf(cells) {
		word := string(e)
		about := wrapped(fmt.Sprintf("%-14s", word), e.About())
		about[0] = s.ending(e, word) + strings.TrimPrefix(about[0], word)
		lines = append(lines, about...)
	}
	if slices.ContainsFunc(cells, func(c results.Cell) bool { return marked(c, "") != "" }) {
		lines = append(lines, fmt.Sprintf("%-14snot as the catalogue expects; listed below", differs))
	}
	return lines
}

// Unexpected reports whether a cell is not as the catalogue expects.
func Unexpected(c results.Cell) bool {
	return c.Verdict == checker.Fail || c.Verdict == checker.Inconclusive
}

// Suite writes a suite's verdict, its matrix, the cells that are not as expected, its sensitivity,
// and the path of its page ("" = none).
func Suite(w io.Writer, suite results.Suite, page string, s Style) error {
	suite, page = Clean(suite), Clean(page)
	locks, planted := locksAndPlanted(suite.Cells)
	lines := s.first(suite.Verdict, Headline(suite.Verdict), wrapped(Headline(suite.Verdict)+"  ", SuiteSummary(suite)))
	if meaning := SuiteMeaning(suite); meaning != "" {
		lines = append(lines, wrapped("", meaning)...)
	}
	lines = append(lines, matrixLines(locks, s)...)
	width := 0
	for _, c := range planted {
		width = max(width, len(c.Lock))
	}
	for i, c := range planted {
		if i == 0 {
			lines = append(lines, "", "planted bugs")
		}
		for _, row := range wrapped(fmt.Sprintf("%-*s  ", width, c.Lock), Caught(c)+" in "+c.Scenario) {
			lines = append(lines, s.verdict(c.Verdict, row))
		}
	}
	lines = append(lines, oddCells(suite.Cells, s)...)
	if suite.Baseline != "" {
		lines = append(lines, "", fmt.Sprintf("against %s: %s", suite.Baseline, Plural(len(suite.Changes), "change")))
		lines = append(lines, changeLines(suite.Changes, s)...)
	}
	lines = append(append(lines, ""), wrapped("sensitivity  ", sensitivityText(suite.Sensitivity))...)
	// what no cell of a lock reached, of which the suite shows nothing, behind the locks that have it
	// in common
	locksOf, things := map[string][]string{}, map[string][]string{}
	for _, lock := range slices.Sorted(maps.Keys(suite.NeverReached)) {
		for _, what := range suite.NeverReached[lock] {
			locksOf[what] = append(locksOf[what], lock)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(locksOf)) {
		of := strings.Join(locksOf[what], ", ")
		things[of] = append(things[of], what)
	}
	for _, of := range slices.Sorted(maps.Keys(things)) {
		lines = append(lines, wrapped("not reached  ", of+": "+strings.Join(things[of], ", "))...)
	}
	for _, n := range suite.Notes {
		lines = append(lines, labelled("note", 13, n, s)...)
	}
	if page != "" {
		lines = append(lines, "report       "+page)
	}
	return write(w, append(lines, again("again        ", suite.Rerun)...))
}

// SuiteSummary returns the line under a suite's verdict: how many cells are as expected, on which
// servers, with which seed.
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
	text := fmt.Sprintf("%s of %s as expected", Count(n[checker.Pass]), Plural(run, "cell"))
	for _, part := range []struct {
		n    int
		what string
	}{{n[checker.Fail], "not"}, {n[checker.Inconclusive], "inconclusive"}, {suite.Missing, "not run"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", Count(part.n), part.what)
		}
	}
	if suite.Shard != nil {
		text += ", shard " + suite.Shard.String()
	}
	return fmt.Sprintf("%s, on %s, seed %d%s", text, ServerOf(suite.Server, suite.Product), suite.Seed, took)
}

// SuiteMeaning says what the verdict of a suite is about, and what became of its locks: a suite
// passes where a lock breaks just as the catalogue says.
func SuiteMeaning(suite results.Suite) string {
	locks, _ := locksAndPlanted(suite.Cells)
	n := map[results.Ending]int{}
	for _, c := range locks {
		n[c.Ending()]++
	}
	var words []string
	for _, e := range results.Endings() {
		if n[e] > 0 && e != results.NotRun {
			words = append(words, fmt.Sprintf("%s %q", Count(n[e]), e))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "The verdict says whether each lock does what the catalogue expects of it, not that it is safe. Its cells: " + strings.Join(words, ", ") + "."
}

// oddCells lists the cells that are not as expected, and those that do not apply when no other was
// run.
func oddCells(cells []results.Cell, s Style) (lines []string) {
	ran := slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Verdict != checker.NotApplicable })
	for _, c := range cells {
		if ran && !Unexpected(c) {
			continue
		}
		lines = append(lines, "")
		lines = append(lines, s.first(c.Verdict, word(c.Verdict), wrapped(word(c.Verdict)+"  ", fmt.Sprintf("%s × %s: %s", c.Lock, c.Scenario, c.Why)))...)
		if !Unexpected(c) {
			continue
		}
		lines = append(append(lines, wrapped("      expected  ", c.Expected)...), wrapped("      observed  ", c.Observed)...)
		if c.Run != "" {
			lines = append(lines, "      run       "+c.Run)
		}
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

// Caught says by which of the expected causes a planted bug was caught; of a break without a cause,
// by its property.
func Caught(c results.Cell) string {
	switch c.Verdict {
	case checker.Pass:
	case checker.NotApplicable:
		return "not run: " + c.Why
	default:
		return "missed"
	}
	want := verdicts.ParseExpectation(c.Expected).Breaks
	var causes []string
	for _, o := range c.Breaks() {
		cause := cmp.Or(string(o.Cause), string(o.Property))
		if !slices.Contains(causes, cause) && slices.ContainsFunc(want, func(w verdicts.Break) bool { return w.Covers(o) }) {
			causes = append(causes, cause)
		}
	}
	return "caught by " + strings.Join(causes, ", ")
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

// matrix arranges cells by lock and scenario, in order of first appearance.
type matrix struct {
	locks, scenarios []string
	cells            map[[2]string]results.Cell
	width            int // of the longest name of a lock
}

func newMatrix(cells []results.Cell) matrix {
	m := matrix{cells: map[[2]string]results.Cell{}}
	for _, c := range cells {
		if !slices.Contains(m.locks, c.Lock) {
			m.locks, m.width = append(m.locks, c.Lock), max(m.width, utf8.RuneCountInString(c.Lock))
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
		lines = append(lines, wrapped(fmt.Sprintf("%-*s ", m.width, lock), strings.Join(words, "; "))...)
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
	width := m.width
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
