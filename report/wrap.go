package report

import (
	"strings"
	"unicode/utf8"
)

// screen is how many columns a line takes at most: those of the narrowest terminal that people use.
const screen = 80

// wrapped breaks a text between words so that no line is wider than a screen, where its words allow that. The first line begins with head,
// the others with as much space.
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

// again shows a command so that it can be pasted: the lines that go on end in a backslash. One with quotes is not broken.
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
