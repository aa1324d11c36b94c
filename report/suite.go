package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// letters stand for the endings where a matrix has too many columns for words.
var letters = map[results.Ending]string{
	results.Holds: ".", results.Late: "l", results.LateSafe: "s", results.Two: "2", results.Stuck: "#", results.Broke: "x",
	results.NotRun: "-", results.Unclear: "?",
}

// differs marks a cell that is not as expected.
const differs = "!"

// legend explains the words of a matrix, or its letters; only those that it has, the worst first.
func legend(cells []results.Cell, abbreviated bool, s Style) (lines []string) {
	for _, e := range results.Endings() {
		if !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Ending() == e }) {
			continue
		}
		word := string(e)
		if abbreviated {
			word = fmt.Sprintf("%s %-10s", letters[e], e)
		}
		for i, line := range wrapped(fmt.Sprintf("%-14s", word), e.About()) {
			if i == 0 {
				line = s.ending(e, word) + strings.TrimPrefix(line, word)
			}
			lines = append(lines, line)
		}
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
	lines := wrapped(Headline(suite.Verdict)+"  ", SuiteSummary(suite))
	lines[0] = s.verdict(suite.Verdict, Headline(suite.Verdict)) + strings.TrimPrefix(lines[0], Headline(suite.Verdict))
	if meaning := SuiteMeaning(suite); meaning != "" {
		lines = append(lines, wrapped("", meaning)...)
	}
	lines = append(lines, matrixLines(locks, s)...)
	lines = append(lines, plantedLines(planted, s)...)
	lines = append(lines, oddCells(suite.Cells, s)...)
	lines = append(lines, changeLines(suite, s)...)
	lines = append(append(lines, ""), wrapped("sensitivity  ", sensitivityText(suite.Sensitivity))...)
	lines = append(lines, neverReached(suite)...)
	lines = append(lines, agreementLines(suite.Agreement, s)...)
	for _, n := range suite.Notes {
		lines = append(lines, noted(13, n, s)...)
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
	text := fmt.Sprintf("%s of %s as expected, %s not, %s inconclusive", count(n[checker.Pass]), Plural(run, "cell"),
		count(n[checker.Fail]), count(n[checker.Inconclusive]))
	if suite.Missing > 0 {
		text += fmt.Sprintf(", %s not run", count(suite.Missing))
	}
	if suite.Shard != nil {
		text += ", shard " + suite.Shard.String()
	}
	return fmt.Sprintf("%s  (%s, seed %d%s)", text, serverOf(suite.Server, suite.Product), suite.Seed, took)
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
			words = append(words, fmt.Sprintf("%s %q", count(n[e]), e))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "The verdict says whether each lock does what the catalogue expects of it, not that it is safe. Its cells: " + strings.Join(words, ", ") + "."
}

// oddCells lists the cells that are not as expected, and those that do not apply when no other was
// run.
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

// neverReached lists what no cell of a lock reached, behind the locks that have it in common: of
// that the suite shows nothing.
func neverReached(suite results.Suite) (lines []string) {
	locks, things := map[string][]string{}, map[string][]string{}
	for _, lock := range slices.Sorted(maps.Keys(suite.NeverReached)) {
		for _, what := range suite.NeverReached[lock] {
			locks[what] = append(locks[what], lock)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(locks)) {
		of := strings.Join(locks[what], ", ")
		things[of] = append(things[of], what)
	}
	for _, of := range slices.Sorted(maps.Keys(things)) {
		lines = append(lines, wrapped("not reached  ", of+": "+strings.Join(things[of], ", "))...)
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

// plantedLines lists the planted bugs, each with the cause by which it was caught, and in which
// scenario.
func plantedLines(planted []results.Cell, s Style) []string {
	if len(planted) == 0 {
		return nil
	}
	lock := 0
	for _, c := range planted {
		lock = max(lock, len(c.Lock))
	}
	lines := []string{"", "planted bugs"}
	for _, c := range planted {
		for _, row := range wrapped(fmt.Sprintf("%-*s  ", lock, c.Lock), Caught(c)+" in "+c.Scenario) {
			lines = append(lines, s.verdict(c.Verdict, row))
		}
	}
	return lines
}

// Caught says by which of the expected causes a planted bug was caught.
func Caught(c results.Cell) string {
	switch c.Verdict {
	case checker.Pass:
		return "caught by " + strings.Join(expectedOf(c), ", ")
	case checker.NotApplicable:
		return "not run: " + c.Why
	}
	return "missed"
}

// expectedOf returns the causes of the observed breaks that were expected; of a break without a
// cause, its property.
func expectedOf(c results.Cell) (causes []string) {
	must, _ := pairs(c.Expected)
	for _, o := range strings.Fields(c.Observed) {
		property, cause, ok := strings.Cut(o, "/")
		if !ok {
			cause = property
		}
		if !slices.Contains(causes, cause) && slices.ContainsFunc(must, func(want string) bool { return covers(want, o) }) {
			causes = append(causes, cause)
		}
	}
	return causes
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
