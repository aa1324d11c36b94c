package report

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/internal/foreign"
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

// Table has figures in columns: the first is a name, the others stand to the right. A row of two
// cells has a text in place of figures.
type Table struct {
	Heads []string
	Rows  [][]string
}

// text returns the lines of a table for a terminal. A head that is longer than all names has a line
// of its own.
func (t Table) text(s Style) (lines []string) {
	heads := append([]string{}, t.Heads...)
	widths := make([]int, len(heads))
	for i, row := range append([][]string{heads}, t.Rows...) {
		for j, cell := range row {
			if (i > 0 || j > 0) && (j == 0 || len(row) > 2) {
				widths[j] = max(widths[j], utf8.RuneCountInString(cell))
			}
		}
	}
	if utf8.RuneCountInString(heads[0]) > max(widths[0], lockColumn) {
		lines, heads[0] = []string{s.paint(bold, heads[0])}, ""
	}
	widths[0] = max(widths[0], utf8.RuneCountInString(heads[0]))
	line := func(row []string) string {
		text := padded(row[0], widths[0])
		for j, cell := range row[1:] {
			if len(row) == 2 && len(heads) > 2 {
				return text + "  " + Short(cell, screen-widths[0]-2)
			}
			text += strings.Repeat(" ", 2+widths[j+1]-utf8.RuneCountInString(cell)) + cell
		}
		return text
	}
	lines = append(lines, s.paint(bold, line(heads)))
	for _, row := range t.Rows {
		lines = append(lines, line(row))
	}
	return lines
}

// padded fills a text with spaces to a width.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// markdown returns the lines of a table in Markdown.
func (t Table) markdown() []string {
	lines := []string{mdRow(t.Heads...), "|---" + strings.Repeat("|--:", len(t.Heads)-1) + "|"}
	for _, row := range t.Rows {
		lines = append(lines, mdRow(append(row, make([]string, len(t.Heads)-len(row))...)...))
	}
	return lines
}

// screen is the width of text in columns.
const screen = 80

// wrapped wraps text at the screen's width. The first line begins with head, the others are
// indented as much.
func wrapped(head, text string) []string { return Wrap(screen, head, text) }

// Wrap wraps text at a width as wrapped does. A word that is longer has a line of its own.
func Wrap(columns int, head, text string) []string {
	return wrapWords(columns, head, strings.Fields(text))
}

func wrapWords(columns int, head string, words []string) []string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	lines, line, width := []string{}, head, len(indent)
	empty := true
	for _, word := range words {
		n := utf8.RuneCountInString(word)
		if !empty && width+1+n > columns {
			lines, line, width, empty = append(lines, line), indent, len(indent), true
		}
		if !empty {
			line, width = line+" ", width+1
		}
		line, width, empty = line+word, width+n, false
	}
	return append(lines, line)
}

// folded breaks lines that are wider than the screen between words, and indents their continuations
// by two more columns.
func folded(lines []string) (out []string) {
	for _, line := range lines {
		if utf8.RuneCountInString(line) <= screen {
			out = append(out, line)
			continue
		}
		text := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(text)]
		parts := Wrap(screen, indent+"  ", text)
		parts[0] = indent + strings.TrimPrefix(parts[0], indent+"  ")
		out = append(out, parts...)
	}
	return out
}

// again wraps a command with backslashes so that it can be pasted.
func again(head, command string) []string {
	lines := wrapWords(screen-2, head, shellWords(command))
	for i := range lines[:len(lines)-1] {
		lines[i] += ` \`
	}
	return lines
}

// shellWords splits a command line, as results.CommandLine writes it, at the spaces that do not
// stand within quotes.
func shellWords(command string) (words []string) {
	quoted, escaped, from := false, false, 0
	for i, c := range command {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && !quoted:
			escaped = true
		case c == '\'':
			quoted = !quoted
		case c == ' ' && !quoted:
			words, from = append(words, command[from:i]), i+1
		}
	}
	return append(words, command[from:])
}

// longestWord is how many characters of one word a message shows: more than a name or a path has.
const longestWord = 600

// Message splits a message into lines, escapes each, and shortens words that are longer than any
// name. It breaks no line, so that what it quotes can be copied.
func Message(text string) []string {
	lines := Lines(text)
	for i, line := range lines {
		words := strings.Split(line, " ")
		for j, w := range words {
			words[j] = foreign.Ends(w, longestWord)
		}
		lines[i] = strings.Join(words, " ")
	}
	return lines
}

// Clean returns a deep copy of a record in which unprintable characters of every string, also of
// map keys, are escaped. Every function that shows a record cleans it first, so that no new field
// is forgotten.
func Clean[T any](v T) T {
	return cleaned(reflect.ValueOf(&v).Elem()).Interface().(T)
}

// Lines splits a text of several lines, and escapes each.
func Lines(text string) []string {
	return strings.Split(foreign.Lines(strings.TrimRight(text, "\n")), "\n")
}

func cleaned(from reflect.Value) reflect.Value {
	to := reflect.New(from.Type()).Elem()
	to.Set(from) // numbers, nil, and unexported fields, such as those of a time, stay
	kind := from.Kind()
	if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map}, kind) && from.IsNil() {
		return to
	}
	switch kind {
	case reflect.String:
		to.SetString(foreign.Text(from.String()))
	case reflect.Pointer:
		to.Set(reflect.New(from.Type().Elem()))
		to.Elem().Set(cleaned(from.Elem()))
	case reflect.Interface:
		to.Set(cleaned(from.Elem()))
	case reflect.Slice, reflect.Array:
		if kind == reflect.Slice {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		}
		for i := range from.Len() {
			to.Index(i).Set(cleaned(from.Index(i)))
		}
	case reflect.Map:
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for _, k := range from.MapKeys() {
			to.SetMapIndex(cleaned(k), cleaned(from.MapIndex(k)))
		}
	case reflect.Struct:
		for i := range from.NumField() {
			if from.Type().Field(i).IsExported() {
				to.Field(i).Set(cleaned(from.Field(i)))
			}
		}
	}
	return to
}
