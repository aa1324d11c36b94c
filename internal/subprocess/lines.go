package subprocess

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine is the default limit on the length of a line, in bytes.
const maxLine = 16 << 20

// ErrTooLong: a line is longer than the limit of its reader.
var ErrTooLong = errors.New("the line is too long")

// Writer writes lines. Its methods may be called from several goroutines.
type Writer struct {
	mu sync.Mutex // protects to: one line at a time
	to io.Writer
}

// NewWriter returns a writer of lines to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Send writes v as a line of JSON.
func (w *Writer) Send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Write writes p, which must be whole lines, without other lines in between.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// Reader reads lines.
type Reader struct {
	in   *bufio.Reader
	max  int
	line []byte
}

// NewReader returns a reader of lines of at most limit bytes; 0 means maxLine.
func NewReader(in io.Reader, limit int) *Reader {
	if limit == 0 {
		limit = maxLine
	}
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), max: limit}
}

// next reads a line without white space around it, valid until the next call. At the end the error
// is io.EOF, or io.ErrUnexpectedEOF with a last text.
func (r *Reader) next() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > r.max:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.max)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.line)) > 0:
			return bytes.TrimSpace(r.line), io.ErrUnexpectedEOF
		default:
			return bytes.TrimSpace(r.line), err
		}
	}
}

// Receive reads a line of JSON into v. It skips empty lines; the last line needs no newline. At the
// end of the input the error is io.EOF.
func (r *Reader) Receive(v any) error {
	for {
		line, err := r.next()
		if len(line) == 0 && err == nil {
			continue
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		return json.Unmarshal(line, v)
	}
}
