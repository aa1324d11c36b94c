package resp

import (
	"bytes"
	"errors"
	"fmt"
)

// feed holds the bytes of one direction that have not been returned as frames.
type feed struct {
	data []byte // what is left: of the slice last added, or of kept
	kept []byte // own storage for the bytes of an incomplete frame
	err  error  // why framing has ended
}

// Feed adds bytes that were sent. Call Next until it returns false before the next Feed; until then
// p must not be changed.
func (f *feed) Feed(p []byte) {
	if len(f.data) == 0 {
		f.data = p[:len(p):len(p)]
		return
	}
	f.kept = append(f.data, p...)
	f.data = f.kept
}

// Beyond returns why framing has ended if a frame is beyond the limits; else nil.
func (f *feed) Beyond() error {
	if errors.Is(f.err, errLimit) {
		return f.err
	}
	return nil
}

// Rest returns the bytes of an incomplete frame.
func (f *feed) Rest() []byte { return f.data }

// frame returns the next frame, whose end scan finds, or once framing has ended, all bytes; nil if
// more are needed.
func (f *feed) frame(scan func([]byte) (int, error)) (raw []byte, opaque bool) {
	if f.err == nil && len(f.data) > 0 {
		var n int
		if n, f.err = scan(f.data); n > 0 {
			return f.take(n), false
		}
	}
	if f.err != nil && len(f.data) > 0 {
		return f.take(len(f.data)), true
	}
	// What is left is copied, so that the owner of the slice last added can reuse it.
	switch {
	case len(f.data) == 0:
		f.data = nil
		if cap(f.kept) > maxIdle {
			f.kept = nil
		}
	case len(f.kept) == 0 || &f.kept[0] != &f.data[0]:
		f.kept = append(f.kept[:0], f.data...)
		f.data = f.kept
	}
	return nil, false
}

func (f *feed) take(n int) []byte {
	frame := f.data[:n:n]
	f.data = f.data[n:]
	return frame
}

// maxIdle is how much storage an idle feed keeps after a large frame.
const maxIdle = 1 << 20

// cursor is the position up to which a frame has been parsed. It is kept between calls, so that a
// frame that comes in many pieces is parsed once.
type cursor struct {
	pos  int // bytes of the frame that are parsed
	seen int // bytes after pos without an end of line
}

// line returns the line at the cursor without its CR LF, and the offset after it; nil if it is
// incomplete.
func (c *cursor) line(buf []byte) (text []byte, next int, err error) {
	end, err := c.newline(buf)
	if end < 0 || err != nil {
		return nil, 0, err
	}
	if end == c.pos || buf[end-1] != '\r' {
		return nil, 0, fmt.Errorf("%w: a line without CR", errSyntax)
	}
	return buf[c.pos : end-1], end + 1, nil
}

// newline returns the offset of the next LF after the cursor; -1 if there is none yet.
func (c *cursor) newline(buf []byte) (int, error) {
	i := bytes.IndexByte(buf[c.pos+c.seen:], '\n')
	if i < 0 {
		c.seen = len(buf) - c.pos
		if c.seen > maxLine {
			return -1, fmt.Errorf("%w: a line of more than %d bytes", errLimit, maxLine)
		}
		return -1, nil
	}
	end := c.pos + c.seen + i
	c.seen = 0
	if end-c.pos > maxLine {
		return -1, fmt.Errorf("%w: a line of %d bytes", errLimit, end-c.pos)
	}
	return end, nil
}

// head reads the complete head of a string or an aggregate at an offset: its first byte, a length
// of at most four digits, and CR LF. It returns the offset after it. ok is false for any other
// head: the caller uses line and length.
func head(buf []byte, at int, kind byte) (n, next int, ok bool) {
	if at >= len(buf) || buf[at] != kind {
		return 0, 0, false
	}
	for i := at + 1; i < min(at+6, len(buf)-1); i++ {
		digit := buf[i] - '0'
		if digit > 9 {
			return n, i + 2, i > at+1 && buf[i] == '\r' && buf[i+1] == '\n'
		}
		n = n*10 + int(digit)
	}
	return 0, 0, false
}

// payload returns the offset after the n bytes at from and their CR LF; 0 if they are incomplete.
func payload(buf []byte, from, n int) (next int, err error) {
	if from+n+2 > maxFrame {
		return 0, fmt.Errorf("%w: a frame of more than %d bytes", errLimit, maxFrame)
	}
	if len(buf) < from+n+2 {
		return 0, nil
	}
	if buf[from+n] != '\r' || buf[from+n+1] != '\n' {
		return 0, fmt.Errorf("%w: %d bytes of a string are not followed by CR LF", errSyntax, n)
	}
	return from + n + 2, nil
}

// length reads the number in the head of a string or an aggregate: digits, or -1 for null.
func length(digits []byte, limit int) (int, error) {
	if string(digits) == "-1" {
		return -1, nil
	}
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, fmt.Errorf("%w: length %.20q", errSyntax, digits)
		}
		if n = n*10 + int(d-'0'); n > limit {
			return 0, fmt.Errorf("%w: length %.20q", errLimit, digits)
		}
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("%w: a length is missing", errSyntax)
	}
	return n, nil
}
