package edn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// Limits that bound the memory for hostile input.
const (
	maxForm  = 1 << 20 // bytes of one operation
	maxDepth = 64      // nesting
)

type parser struct {
	in    *bufio.Reader
	file  string
	pos   position // of the next byte
	depth int
	size  int // bytes read of the current operation
}

func (p *parser) fail(at position, format string, args ...any) error {
	return &history.SyntaxError{File: p.file, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...)}
}

// next reads a byte. The error is io.EOF, a *history.SyntaxError for an operation that is too large, or the reader's.
func (p *parser) next() (byte, error) {
	c, err := p.in.ReadByte()
	if err != nil {
		return 0, err
	}
	p.size++
	if p.size > maxForm {
		return 0, p.fail(p.pos, "expected an operation of at most %d bytes, found a longer one", maxForm)
	}
	p.pos.col++
	if c == '\n' {
		p.pos = position{p.pos.line + 1, 1}
	}
	return c, nil
}

// peek returns the next byte without reading it.
func (p *parser) peek() (byte, error) {
	b, err := p.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// skip skips white space, commas, comments and discarded forms, and returns the next byte without reading it.
func (p *parser) skip() (byte, error) {
	for {
		c, err := p.peek()
		if err != nil {
			return 0, err
		}
		switch {
		case isSpace(c):
			_, err = p.next()
			if p.depth == 0 {
				p.size = 0 // between operations
			}
		case c == ';':
			err = p.comment()
		case c == '#' && p.discards():
			err = p.discard()
		default:
			return c, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func (p *parser) comment() error {
	for {
		c, err := p.next()
		if err != nil || c == '\n' {
			return err
		}
	}
}

func (p *parser) discards() bool {
	b, _ := p.in.Peek(2)
	return len(b) == 2 && b[1] == '_'
}

// discard skips #_ and the form after it.
func (p *parser) discard() error {
	at := p.pos
	_, _ = p.next() // #
	_, _ = p.next() // _
	_, err := p.form()
	if errors.Is(err, io.EOF) {
		return p.fail(at, "expected a form after #_, found the end")
	}
	return err
}

// form reads one form; io.EOF if there is none.
func (p *parser) form() (form, error) {
	c, err := p.skip()
	if err != nil {
		return form{}, err
	}
	at := p.pos
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return form{}, p.fail(at, "expected at most %d forms within each other", maxDepth)
	}
	f, err := p.formAt(c)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = p.fail(at, "expected the rest of a form that begins here, found the end")
	}
	f.pos = at
	return f, err
}

func (p *parser) formAt(c byte) (form, error) {
	switch c {
	case '{':
		return p.list(kindMap, '}')
	case '[':
		return p.list(kindList, ']')
	case '(':
		return p.list(kindList, ')')
	case '"':
		return p.text()
	case '#':
		return p.tagged()
	case ')', ']', '}':
		return form{}, p.fail(p.pos, "expected a form, found %q", c)
	case '\\':
		return p.char()
	}
	return p.atom()
}

// list reads the forms up to a closing bracket.
func (p *parser) list(k kind, end byte) (form, error) {
	f := form{kind: k}
	if _, err := p.next(); err != nil {
		return f, err
	}
	for {
		c, err := p.skip()
		if err != nil {
			return f, err
		}
		if c == end {
			_, err = p.next()
			if err == nil && k == kindMap && len(f.items)%2 != 0 {
				err = p.fail(p.pos, "expected a value for each key of a map, found %d forms in it", len(f.items))
			}
			return f, err
		}
		item, err := p.form()
		if err != nil {
			return f, err
		}
		f.items = append(f.items, item)
	}
}

func (p *parser) text() (form, error) {
	var b strings.Builder
	_, _ = p.next() // the quote
	for {
		c, err := p.next()
		switch {
		case err != nil:
			return form{}, err
		case c == '"':
			return form{kind: kindString, text: b.String()}, nil
		case c == '\\':
			if c, err = p.next(); err != nil {
				return form{}, err
			}
			c = unescape(c)
		}
		b.WriteByte(c)
	}
}

// unescape returns the meaning of a letter after a backslash. It leaves code points (\u0041) as their digits.
func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

func (p *parser) char() (form, error) {
	_, _ = p.next() // the backslash
	c, err := p.next()
	if err != nil {
		return form{}, err
	}
	rest, err := p.word()
	return form{kind: kindChar, text: string(c) + rest}, err
}

// tagged reads a form that begins with #: a set, a tag and its form, or a symbolic value such as ##NaN.
func (p *parser) tagged() (form, error) {
	_, _ = p.next() // the #
	c, err := p.peek()
	if err != nil {
		return form{}, err
	}
	switch c {
	case '{':
		return p.list(kindList, '}')
	case '#':
		_, _ = p.next()
		name, err := p.word()
		return form{kind: kindFloat, text: name}, err
	}
	tag, err := p.word()
	if err != nil {
		return form{}, err
	}
	if tag == "" {
		return form{}, p.fail(p.pos, "expected a tag after #, found %q", c)
	}
	f, err := p.form()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	f.tag = tag
	return f, err
}

// word reads up to the next delimiter.
func (p *parser) word() (string, error) {
	var b strings.Builder
	for {
		c, err := p.peek()
		if errors.Is(err, io.EOF) || err == nil && isDelimiter(c) {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if c, err = p.next(); err != nil {
			return "", err
		}
		b.WriteByte(c)
	}
}

// atom reads a number, a keyword, a symbol, a boolean or nil.
func (p *parser) atom() (form, error) {
	at := p.pos
	w, err := p.word()
	if err != nil {
		return form{}, err
	}
	switch {
	case w == "nil":
		return form{kind: kindNil}, nil
	case w == "true" || w == "false":
		return form{kind: kindBool, text: w}, nil
	case w[0] == ':':
		if len(w) == 1 {
			return form{}, p.fail(at, "expected a name after the colon")
		}
		return form{kind: kindKeyword, text: w[1:]}, nil
	case isDigit(w[0]) || len(w) > 1 && (w[0] == '-' || w[0] == '+') && isDigit(w[1]):
		return p.number(at, w)
	}
	return form{kind: kindSymbol, text: w}, nil
}

func (p *parser) number(at position, w string) (form, error) {
	if n, err := strconv.ParseInt(strings.TrimSuffix(w, "N"), 10, 64); err == nil {
		return form{kind: kindInt, int: n, text: w}, nil
	}
	if _, err := strconv.ParseFloat(strings.TrimSuffix(w, "M"), 64); err == nil {
		return form{kind: kindFloat, text: w}, nil
	}
	return form{}, p.fail(at, "expected a number of 64 bits, found %q", cut(w))
}

// cut truncates s for a message.
func cut(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == '\f'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isDelimiter(c byte) bool { return isSpace(c) || strings.IndexByte(`()[]{}";`, c) >= 0 }
