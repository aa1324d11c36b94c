package report

import (
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/internal/foreign"
)

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
