package report

import (
	"strings"
	"unicode/utf8"
)

// screen is the width of text in columns.
const screen = 80

// wrapped wraps text at the screen's width. The first line begins with head, the others are indented as much.
func wrapped(head, text string) []string { return wrappedTo(screen, head, text) }

func wrappedTo(columns int, head, text string) []string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	lines, line, width := []string{}, head, len(indent)
	empty := true
	for _, word := range strings.Fields(text) {
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

// again wraps a command with backslashes so that it can be pasted. It does not wrap a command with quotes.
func again(head, command string) []string {
	if strings.ContainsAny(command, `'"`) {
		return []string{head + command}
	}
	lines := wrappedTo(screen-2, head, command)
	for i := range lines[:len(lines)-1] {
		lines[i] += ` \`
	}
	return lines
}
