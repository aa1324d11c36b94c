package foreign

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text escapes characters that a terminal, a log or a page would interpret: control characters,
// bytes that are not UTF-8, and marks that change the direction of text. Line breaks and tabs
// become spaces. The first character of ::word and ##[word, which GitHub's runner executes as
// commands, is escaped. Other text is unchanged.
func Text(text string) string {
	if strings.IndexFunc(text, hidden) < 0 && !strings.Contains(text, "::") && !strings.Contains(text, "##[") {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case command(text, i):
			fmt.Fprintf(&b, `\x%02x`, r)
		case !hidden(r):
			b.WriteRune(r)
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// Ends shortens a text to its beginning and its end, at most most characters.
func Ends(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := most / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-head-1):])
}

// Lines escapes each line of a text as Text does. Line breaks become LF.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Text(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// command reports whether a command for GitHub's runner begins at an offset.
func command(text string, at int) bool {
	if word, found := strings.CutPrefix(text[at:], "##["); found {
		return lettered(word)
	}
	word, found := strings.CutPrefix(text[at:], "::")
	first := at == 0 || text[at-1] <= ' ' || text[at-1] >= utf8.RuneSelf
	return found && first && lettered(word)
}

// lettered reports whether a text begins with a letter: commands of the runner do, a drawing of
// holds (##[###) does not.
func lettered(text string) bool { return text != "" && unicode.IsLetter(rune(text[0])) }

// hidden reports whether a rune does not print as itself.
func hidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// JSON escapes in encoded JSON what Text escapes in text, except line breaks. The value stays the
// same.
func JSON(data []byte) []byte {
	escape := func(r rune) bool { return r != '\n' && hidden(r) }
	if bytes.IndexFunc(data, escape) < 0 {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case !escape(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.Bytes()
}
