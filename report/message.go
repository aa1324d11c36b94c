package report

import (
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/internal/plain"
)

// longestWord is how many characters of one word a message shows: more than a name or a path has.
const longestWord = 600

// Message splits a message into lines, escapes each, shortens words that are longer than any name, and breaks lines wider than columns; with 0 none.
// Lines that begin with a space, which quote a file or another process, are never broken, and nothing is broken within a word or within quotes, so
// that it can be copied.
func Message(columns int, text string) (out []string) {
	for _, line := range Lines(text) {
		words := quotedWords(line)
		for i, w := range words {
			words[i] = plain.Ends(w, longestWord)
		}
		switch {
		case strings.HasPrefix(line, " "):
			out = append(out, line)
		case columns == 0 || utf8.RuneCountInString(line) <= columns:
			out = append(out, strings.Join(words, " "))
		default:
			lines := wrapWords(columns, "  ", words)
			lines[0] = strings.TrimPrefix(lines[0], "  ")
			out = append(out, lines...)
		}
	}
	return out
}

// quotedWords returns the words of a line. Words within quotes are one.
func quotedWords(line string) (words []string) {
	for rest := line; rest != ""; {
		n := quotedWord(rest)
		words, rest = append(words, rest[:n]), strings.TrimPrefix(rest[n:], " ")
	}
	return words
}

// quotedWord returns the length of the first word. A quote begins a quotation only before a word: the one in "lock's" does not.
func quotedWord(text string) int {
	end := firstWord(text)
	open := strings.IndexAny(text[:end], `'"`)
	if open < 0 || open > 0 && text[open-1] != '(' && text[open-1] != '=' {
		return end
	}
	closed := strings.IndexByte(text[open+1:], text[open])
	if closed < 0 {
		return end
	}
	from := open + 1 + closed
	return from + firstWord(text[from:])
}

// firstWord returns the length of the text before the first space.
func firstWord(text string) int {
	word, _, _ := strings.Cut(text, " ")
	return len(word)
}
