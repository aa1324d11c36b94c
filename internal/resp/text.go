package resp

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// Text returns b as text for a log: cut to size bytes, to which "…" is added, and with Go's escapes
// where it is not printable UTF-8.
func Text(b []byte, size int) string {
	cut := ""
	if len(b) > size {
		end := size
		for end > max(0, size-utf8.UTFMax) && !utf8.RuneStart(b[end]) { // no rune is split
			end--
		}
		b, cut = b[:end], "…"
	}
	ascii := 0
	for ascii < len(b) && ' ' <= b[ascii] && b[ascii] <= '~' { // most texts are no more than that
		ascii++
	}
	odd := func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }
	if !bytes.ContainsFunc(b[ascii:], odd) {
		return string(b) + cut
	}
	q := strconv.Quote(string(b))
	return q[1:len(q)-1] + cut
}

// Line returns the reply as one line: OK, (nil), 1, "value", -ERR …, true, [1, "a", (nil)]. Text is
// cut to size bytes. A longer aggregate is [900 items], or [1, … 900 items] if it begins with a
// number, which may be the result of a script.
func (r Reply) Line(size int) string {
	if r.opaque {
		return "(not RESP)"
	}
	v := r.value()
	if !v.aggregate() || v.null {
		return v.line(size)
	}
	if text, _, ok := list(nil, r.Raw, size, 0); ok && len(text) <= size+2 {
		return string(text)
	}
	first := ""
	if at := v.size; v.kind == '*' && v.count > 0 && r.Raw[at] == ':' {
		first = string(read(r.Raw[at:]).text) + ", … "
	}
	if v.kind == '%' { // pairs count once
		v.count /= 2
	}
	return "[" + first + strconv.Itoa(v.count) + " items]"
}

// line is Line for a scalar.
func (v value) line(size int) string {
	switch {
	case v.kind == '_' || v.null:
		return "(nil)"
	case v.kind == '-' || v.kind == '!':
		return "-" + Text(v.text, size)
	case v.kind == '$':
		return quote(v.text, size)
	case v.kind == '=' && len(v.text) > 3:
		return quote(v.text[4:], size)
	case v.kind == '#':
		return strconv.FormatBool(len(v.text) > 0 && v.text[0] == 't')
	}
	return Text(v.text, size)
}

const maxListDepth = 8

// list appends the element at the start of b and returns the rest; false if the element is too
// long or too deep.
func list(to, b []byte, size, depth int) (text, rest []byte, ok bool) {
	v := read(b)
	if v.size == 0 || depth > maxListDepth || len(to) > size {
		return to, nil, false
	}
	rest = b[min(v.size, len(b)):]
	if !v.aggregate() || v.null {
		return append(to, v.line(size)...), rest, true
	}
	to = append(to, '[')
	for i := range v.count {
		if i > 0 {
			to = append(to, ", "...)
		}
		if to, rest, ok = list(to, rest, size, depth+1); !ok {
			return to, nil, false
		}
	}
	return append(to, ']'), rest, true
}

func quote(b []byte, size int) string { return `"` + Text(b, size) + `"` }

// IsErrorText reports whether text, a reply as [Reply.Line] writes it, is an error and no negative
// number.
func IsErrorText(text string) bool {
	return len(text) > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9') && text != "-inf"
}
