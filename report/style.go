package report

import (
	"cmp"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Style is the style of text. The zero value is plain.
type Style struct {
	Colour bool // write escape sequences
}

// The colours are legible on dark and on light terminals (yellow is not). A colour only paints a
// word that says the same.
const (
	blue    = "\x1b[1;34m"
	red     = "\x1b[1;31m"
	magenta = "\x1b[1;35m"
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	green   = "\x1b[32m"
	off     = "\x1b[0m"
)

func (s Style) paint(colour, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return colour + text + off
}

func (s Style) paintAll(colour string, lines []string) []string {
	for i := range lines {
		lines[i] = s.paint(colour, lines[i])
	}
	return lines
}

// word returns a verdict in four letters.
func word(v checker.Result) string {
	return cmp.Or(map[checker.Result]string{checker.Pass: "pass", checker.Fail: "FAIL", checker.NotApplicable: "n/a "}[v], "????")
}

// Headline returns the long form of a verdict.
func Headline(v checker.Result) string {
	return cmp.Or(map[checker.Result]string{checker.Pass: "PASS", checker.Fail: "FAIL"}[v], "INCONCLUSIVE")
}

func (s Style) verdict(v checker.Result, text string) string {
	colours := map[checker.Result]string{checker.Pass: blue, checker.Fail: red, checker.NotApplicable: dim, checker.Inconclusive: magenta}
	return s.paint(colours[v], text)
}

// ending paints an ending by its severity.
func (s Style) ending(e results.Ending, text string) string {
	colours := map[results.Ending]string{results.Stuck: red, results.Two: red, results.Late: magenta, results.Broke: magenta,
		results.LateSafe: blue, results.Holds: green, results.NotRun: dim, results.Unclear: magenta}
	return s.paint(colours[e], text)
}

// first paints the word at the start of lines as a verdict.
func (s Style) first(v checker.Result, word string, lines []string) []string {
	lines[0] = s.verdict(v, word) + strings.TrimPrefix(lines[0], word)
	return lines
}
