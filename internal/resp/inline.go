package resp

import (
	"bytes"
	"strconv"
)

// inline reads a request of one line of words, as typed in a terminal. LF without CR ends it, as on
// the server.
func (s *requestScan) inline(buf []byte) (int, error) {
	end, err := s.newline(buf)
	if end < 0 || err != nil {
		return 0, err
	}
	s.split(bytes.TrimSuffix(buf[:end], []byte("\r")))
	s.cursor = cursor{}
	return end + 1, nil
}

// split splits a line into words. A line with unbalanced quotes is one word: the server replies
// with an error.
func (s *requestScan) split(line []byte) {
	s.args, s.text = s.args[:0], make([]byte, 0, len(line))
	rest := line
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n\v\f\x00")
		if len(rest) == 0 {
			return
		}
		from, ok := len(s.text), false
		if s.text, rest, ok = word(s.text, rest); !ok {
			s.text = append(s.text[:0], line...)
			s.args = append(s.args[:0], span{0, len(line)})
			return
		}
		s.args = append(s.args, span{from, len(s.text)})
	}
}

// word appends the first word of line to dst without its quotes, and returns the rest.
func word(dst, line []byte) (word, rest []byte, ok bool) {
	for len(line) > 0 {
		switch c := line[0]; {
		case isSpace(c):
			return dst, line, true
		case c == '"' || c == '\'':
			if dst, line, ok = quoted(dst, line[1:], c); !ok {
				return dst, nil, false
			}
		default:
			dst, line = append(dst, c), line[1:]
		}
	}
	return dst, nil, true
}

// quoted appends the text inside quotes. A space or the end of the line must follow the closing
// quote.
func quoted(dst, line []byte, quote byte) (word, rest []byte, ok bool) {
	for len(line) > 0 {
		c := line[0]
		if c == quote {
			rest = line[1:]
			return dst, rest, len(rest) == 0 || isSpace(rest[0])
		}
		n := 1
		if c == '\\' && len(line) > 1 {
			c, n = escaped(line, quote)
		}
		dst, line = append(dst, c), line[n:]
	}
	return dst, nil, false
}

// escaped returns the byte of the escape at the start of line, and the length of the escape.
func escaped(line []byte, quote byte) (byte, int) {
	c := line[1]
	if quote == '\'' {
		if c == '\'' {
			return c, 2
		}
		return '\\', 1
	}
	if c == 'x' && len(line) > 3 {
		if code, err := strconv.ParseUint(string(line[2:4]), 16, 8); err == nil {
			return byte(code), 4
		}
	}
	if i := bytes.IndexByte([]byte("nrtba"), c); i >= 0 {
		return "\n\r\t\b\a"[i], 2
	}
	return c, 2
}

func isSpace(c byte) bool { return c == ' ' || c == 0 || '\t' <= c && c <= '\r' }
