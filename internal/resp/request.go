package resp

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Requests frames the requests on one connection. The zero value is ready for use.
type Requests struct {
	feed
	scan requestScan
}

// Next returns the next complete request, valid until the next call; false if more bytes are
// needed; without arguments once framing has ended.
func (s *Requests) Next() (Request, bool) {
	raw, opaque := s.frame(s.scan.next)
	if opaque || raw == nil {
		return Request{Raw: raw, opaque: opaque}, opaque
	}
	return Request{Raw: raw, args: s.scan.args}, true
}

// Between reports whether the next byte begins a request.
func (s *Requests) Between() bool { return s.err == nil && len(s.data) == 0 }

// Request is one request: an array of bulk strings, or an inline command.
type Request struct {
	Raw    []byte // all its bytes, as they came
	args   []span
	opaque bool
}

type span struct{ from, to int }

// Opaque reports whether these are unparsed bytes.
func (r Request) Opaque() bool { return r.opaque }

// Len returns the number of arguments, including the command's name. A request without arguments
// has no reply.
func (r Request) Len() int { return len(r.args) }

// Arg returns argument i, where 0 is the command's name; nil if there is none. It shares the
// request's storage.
func (r Request) Arg(i int) []byte {
	if i < 0 || i >= len(r.args) {
		return nil
	}
	return r.Raw[r.args[i].from:r.args[i].to:r.args[i].to]
}

// Array reports whether the request is an array, not an inline command.
func (r Request) Array() bool { return len(r.Raw) > 0 && r.Raw[0] == '*' && !r.opaque }

// Clone returns the request in storage of its own.
func (r Request) Clone() Request {
	return Request{Raw: bytes.Clone(r.Raw), args: slices.Clone(r.args), opaque: r.opaque}
}

// Like reports whether p is a request that differs from r, an array, only in the bytes of the
// arguments varies, in order.
func (r Request) Like(p []byte, varies []int) bool {
	if len(p) != len(r.Raw) {
		return false
	}
	from := 0
	for _, i := range varies {
		if !bytes.Equal(p[from:r.args[i].from], r.Raw[from:r.args[i].from]) {
			return false
		}
		from = r.args[i].to
	}
	return bytes.Equal(p[from:], r.Raw[from:])
}

// Strings returns at most count arguments after the name, each shortened by [Text].
func (r Request) Strings(count, size int) []string {
	n := min(count, len(r.args)-1)
	if n <= 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = Text(r.Arg(i+1), size)
	}
	return out
}

// AppendRequest appends a request with these arguments to dst.
func AppendRequest(dst []byte, args ...string) []byte {
	dst = fmt.Appendf(dst, "*%d\r\n", len(args))
	for _, a := range args {
		dst = fmt.Appendf(dst, "$%d\r\n%s\r\n", len(a), a)
	}
	return dst
}

// requestScan finds the end of the request at the start of a growing buffer.
type requestScan struct {
	cursor
	begun bool
	want  int // arguments still to come, once begun
	args  []span
}

// next returns the length of the request at the start of buf; 0 if it is incomplete.
func (s *requestScan) next(buf []byte) (int, error) {
	if buf[0] != '*' {
		return s.inline(buf)
	}
	if !s.begun {
		text, next, err := s.line(buf)
		if text == nil || err != nil {
			return 0, err
		}
		n, err := length(text[1:], maxItems)
		if err != nil {
			return 0, err
		}
		s.pos, s.want, s.begun, s.args = next, n, true, s.args[:0]
	}
	for s.want > 0 {
		if done, err := s.argument(buf); err != nil || !done {
			return 0, err
		}
	}
	n := s.pos
	s.cursor, s.begun = cursor{}, false
	return n, nil
}

// argument reads one bulk string; false if it is incomplete.
func (s *requestScan) argument(buf []byte) (bool, error) {
	n, from, short := head(buf, s.pos, '$')
	if short {
		s.seen = 0
	} else {
		var text []byte
		var err error
		if text, from, err = s.line(buf); text == nil || err != nil {
			return false, err
		}
		if len(text) == 0 || text[0] != '$' {
			return false, fmt.Errorf("%w: an argument begins with %.1q", errSyntax, text)
		}
		if n, err = length(text[1:], maxFrame); err == nil && n < 0 {
			err = fmt.Errorf("%w: an argument is null", errSyntax)
		}
		if err != nil {
			return false, err
		}
	}
	next, err := payload(buf, from, n)
	if next == 0 || err != nil {
		return false, err
	}
	s.args = append(s.args, span{from, from + n})
	s.pos, s.want = next, s.want-1
	return true, nil
}

// inline reads a request of one line of words, as typed in a terminal. LF without CR ends it, as on
// the server. Quotes count as parts of a word: they do not change where the request ends.
func (s *requestScan) inline(buf []byte) (int, error) {
	end, err := s.newline(buf)
	if end < 0 || err != nil {
		return 0, err
	}
	s.args, s.cursor = s.args[:0], cursor{}
	from := -1 // of the current word; -1: between words
	for i, c := range buf[:end+1] {
		switch space := c == ' ' || c == 0 || '\t' <= c && c <= '\r'; {
		case !space && from < 0:
			from = i
		case space && from >= 0:
			s.args, from = append(s.args, span{from, i}), -1
		}
	}
	return end + 1, nil
}

// maxReplyLine bounds a reply of one line.
const maxReplyLine = 512

// Ask sends a request and reads exactly its reply, which must be one line, on a connection that
// nobody else uses yet.
func Ask(conn io.ReadWriter, words ...string) (reply string, err error) {
	if _, err := conn.Write(AppendRequest(nil, words...)); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < maxReplyLine; line = append(line, one[0]) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
	}
	return "", fmt.Errorf("reply is longer than %d bytes", maxReplyLine)
}
