package edn

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	lib "olympos.io/encoding/edn"

	"github.com/lockbench/lockbench/history"
)

// Limits that bound the memory for hostile input.
const (
	maxForm  = 1 << 20 // bytes of one operation
	maxDepth = 64      // brackets within each other
)

// position is a position in the text; both count from 1, columns in bytes.
type position struct{ line, col int }

// forms cuts a text into operations, each up to the bracket that closes it, and has the library
// decode them one by one. The cutting is ours: the library reads a value however long it is, calls
// itself for each bracket, and has no positions.
type forms struct {
	in     *bufio.Reader
	file   string
	pos    position // of the next byte
	began  bool     // something was read
	vector bool     // the text is one vector of operations, which is open
	text   []byte   // of the current operation

	decoder *bufio.Reader // what the library reads, from text
	tags    lib.TagMap
}

func newForms(r io.Reader, file string) *forms {
	f := &forms{in: bufio.NewReaderSize(r, 64<<10), file: file, pos: position{1, 1}, decoder: bufio.NewReader(nil)}
	// The library's own tags make values of Go and errors; a history's values are texts for us.
	asItIs := func(v any) (any, error) { return v, nil }
	for _, tag := range []string{"inst", "base64"} {
		_ = f.tags.AddTagFn(tag, asItIs) // fails for what is no function
	}
	return f
}

func (f *forms) fail(at position, format string, args ...any) error {
	return &history.SyntaxError{File: f.file, Line: at.line, Col: at.col, Msg: fmt.Sprintf(format, args...)}
}

// next returns the next operation as the library decodes it, and where it begins; io.EOF after the
// last.
func (f *forms) next() (any, position, error) {
	for {
		at, err := f.cut()
		if err != nil {
			return nil, at, err
		}
		f.decoder.Reset(bytes.NewReader(f.text))
		decoder := lib.NewDecoder(f.decoder)
		decoder.UseTagMap(&f.tags)
		var v any
		err = decoder.Decode(&v)
		if err == nil {
			return v, at, nil
		}
		if !errors.Is(err, io.EOF) { // the end: the operation is discarded
			return nil, at, f.fail(at, "expected an operation in EDN: %v", err)
		}
	}
}

// cut reads the text of the next operation, and returns where it begins.
func (f *forms) cut() (at position, err error) {
	c, at, err := f.start()
	if err == nil && c == '[' && !f.began {
		f.vector, f.began = true, true
		c, at, err = f.start()
	}
	f.began = true
	switch {
	case errors.Is(err, io.EOF) && f.vector:
		return at, f.fail(f.pos, "expected ] at the end of the vector, found the end")
	case err != nil:
		return at, err
	case c == ']' && f.vector:
		f.vector = false
		if c, at, err = f.start(); err == nil {
			err = f.fail(at, "expected nothing after the vector, found %q", c)
		}
		return at, err
	case c == ')' || c == ']' || c == '}':
		return at, f.fail(at, "expected an operation, found %q", c)
	}
	f.text = f.text[:0]
	return at, f.rest(c, at)
}

// start skips white space, commas and comments, and reads the byte after them.
func (f *forms) start() (c byte, at position, err error) {
	for comment := false; ; {
		at = f.pos
		c, err = f.read()
		switch {
		case err != nil:
			return c, at, err
		case c == '\n':
			comment = false
		case c == ';':
			comment = true
		case c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != ',' && !comment:
			return c, at, nil
		}
	}
}

// rest reads an operation that begins with c into text, up to the bracket that closes it.
func (f *forms) rest(c byte, at position) (err error) {
	var text, comment, escaped bool // inside a string, inside a comment, after a backslash
	for depth := 0; ; {
		f.text = append(f.text, c)
		switch {
		case len(f.text) > maxForm:
			return f.fail(at, "expected an operation of at most %d bytes, found a longer one", maxForm)
		case escaped || comment:
			escaped, comment = false, comment && c != '\n'
		case c == '\\':
			escaped = true
		case c == '"':
			text = !text
		case text:
		case c == ';':
			comment = true
		case c == '#' && bytes.HasSuffix(f.text, []byte("##")):
			copy(f.text[len(f.text)-2:], "__") // ##NaN is Clojure's, not EDN's: read it as a symbol
		case c == '{' || c == '[' || c == '(':
			if depth++; depth > maxDepth {
				return f.fail(at, "expected at most %d forms within each other", maxDepth)
			}
		case c == '}' || c == ']' || c == ')':
			if depth--; depth <= 0 {
				return nil
			}
		}
		if c, err = f.read(); errors.Is(err, io.EOF) && depth == 0 && !text {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return f.fail(at, "expected the rest of an operation that begins here, found the end")
		}
		if err != nil {
			return err
		}
	}
}

func (f *forms) read() (byte, error) {
	c, err := f.in.ReadByte()
	if err != nil {
		return 0, err
	}
	f.pos.col++
	if c == '\n' {
		f.pos = position{f.pos.line + 1, 1}
	}
	return c, nil
}
