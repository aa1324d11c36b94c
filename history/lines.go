package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Bounds on what is read.
const (
	maxLine   = 1 << 20   // bytes of one line
	maxWindow = 128 << 20 // bytes of zstd window; what the zstd tool accepts by default
)

// lines reads a text line by line, decompressing it when it is zstd. Memory is bounded by maxLine and maxWindow.
type lines struct {
	file    string
	line    int // number of the last line given
	in      *bufio.Reader
	decoder *zstd.Decoder // nil: plain text
	closer  io.Closer     // nil: not ours to close
	long    []byte        // a line that did not fit into in
	salvage bool
	cut     bool // the text was truncated, and salvage is on
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func newLines(r io.Reader, file string) (*lines, error) {
	l := &lines{file: file, in: bufio.NewReaderSize(r, 1<<18)}
	head, err := l.in.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, l.ioError(err)
	}
	if !bytes.Equal(head, zstdMagic) {
		return l, nil
	}
	l.decoder, err = zstd.NewReader(l.in, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, l.ioError(err)
	}
	l.in = bufio.NewReaderSize(l.decoder, 1<<18)
	return l, nil
}

// next returns the next line without its newline, valid until the call after. It answers io.EOF at the end.
func (l *lines) next() ([]byte, error) {
	l.line++
	chunk, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		chunk, err = l.rest(chunk)
	}
	switch {
	case err == nil:
		return chunk[:len(chunk)-1], nil
	case errors.Is(err, io.EOF) && len(chunk) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		return chunk, nil // the last line has no newline; if it was cut, it will not parse
	case l.truncated(err):
		return nil, io.EOF
	}
	return nil, l.ioError(err)
}

// rest reads on a line that began with head and did not fit into the buffer.
func (l *lines) rest(head []byte) ([]byte, error) {
	l.long = append(l.long[:0], head...)
	for {
		chunk, err := l.in.ReadSlice('\n')
		if len(l.long)+len(chunk) > maxLine {
			return nil, &SyntaxError{File: l.file, Line: l.line, Msg: fmt.Sprintf("a line longer than %d bytes", maxLine)}
		}
		l.long = append(l.long, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}

// truncated reports whether err is the end of a file in the middle of a frame and may be passed over.
func (l *lines) truncated(err error) bool {
	l.cut = l.salvage && errors.Is(err, io.ErrUnexpectedEOF)
	return l.cut
}

// lastLine reports whether the text ends after the line that next gave last.
func (l *lines) lastLine() bool {
	_, err := l.in.Peek(1)
	return err != nil
}

// ioError says what is wrong with the file as a whole.
func (l *lines) ioError(err error) error {
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax):
		return err
	case l.decoder == nil:
		return fmt.Errorf("%s: %w", l.name(), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{File: l.file, Line: l.line, Err: ErrTruncated,
			Msg: fmt.Sprintf("the zstd stream ends in the middle of a frame, after %d complete lines", l.line-1)}
	}
	return &SyntaxError{File: l.file, Line: l.line, Err: err, Msg: "expected a zstd stream: " + err.Error()}
}

func (l *lines) name() string {
	if l.file == "" {
		return "history"
	}
	return l.file
}

// close releases the decompressor, waits for what it runs, and closes the file if it is ours.
func (l *lines) close() error {
	if l.decoder != nil {
		l.decoder.Close()
	}
	if l.closer == nil {
		return nil
	}
	closer := l.closer
	l.closer = nil
	return closer.Close()
}
