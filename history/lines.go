package history

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Limits on input.
const (
	maxLine   = 1 << 20   // bytes of one line
	maxWindow = 128 << 20 // bytes of zstd window, the default limit of the zstd tool
)

// lines reads a text line by line and decompresses it if it is zstd. Its memory is bounded by
// maxLine and maxWindow.
type lines struct {
	file    string
	line    int // number of the current line
	in      *bufio.Reader
	decoder *zstd.Decoder // nil: plain text
	closer  io.Closer     // nil: the caller closes the file
	long    []byte        // a line longer than in's buffer
	salvage bool          // end before a truncated line or frame, without an error
	open    bool          // the current line has no newline: it is the last, and may be incomplete
	cut     bool          // salvage was needed
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

// next returns the next line without its newline, valid until the next call; io.EOF after the last.
func (l *lines) next() ([]byte, error) {
	l.line++
	l.open = false
	chunk, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, chunk...)
			if chunk, err = l.in.ReadSlice('\n'); len(l.long)+len(chunk) > maxLine {
				return nil, &SyntaxError{File: l.file, Line: l.line, Msg: fmt.Sprintf("a line longer than %d bytes", maxLine)}
			}
		}
		l.long = append(l.long, chunk...)
		chunk = l.long
	}
	switch {
	case err == nil:
		return chunk[:len(chunk)-1], nil
	case errors.Is(err, io.EOF) && len(chunk) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF):
		l.open = true
		return chunk, nil // if it is truncated it does not parse
	case l.salvage && errors.Is(err, io.ErrUnexpectedEOF): // a truncated frame
		l.cut = true
		return nil, io.EOF
	}
	return nil, l.ioError(err)
}

// ioError adds the file's name to a read error.
func (l *lines) ioError(err error) error {
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax):
		return err
	case l.decoder == nil:
		return fmt.Errorf("%s: %w", cmp.Or(l.file, unnamed), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{File: l.file, Line: l.line, Err: ErrTruncated,
			Msg: fmt.Sprintf("the zstd stream ends in the middle of a frame, after %d complete lines", l.line-1)}
	}
	return &SyntaxError{File: l.file, Line: l.line, Err: err, Msg: "expected a zstd stream: " + err.Error()}
}

// close stops the decompressor and closes the file if Open opened it.
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

// ErrTruncated matches the error for a file that ends within a compressed frame or its last line,
// as when its writer was killed. See [Reader.Salvage].
var ErrTruncated = errors.New("truncated")

// unnamed stands for a file without a name in errors.
const unnamed = "history"

// SyntaxError is a line of a history, commands or faults file that violates its schema. Line and
// Col count from 1 in the uncompressed text; Col 0 means the whole line, Line 0 the whole file.
type SyntaxError struct {
	File string // "" if unnamed
	Line int
	Col  int
	Msg  string // what was expected and what was found
	Err  error  // ErrTruncated, the error of the reader or decompressor, or nil
}

// Error returns "file:line:col: message", without unknown parts.
func (e *SyntaxError) Error() string {
	at := cmp.Or(e.File, unnamed)
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
	if e.Line > 0 && e.Col > 0 {
		at += fmt.Sprintf(":%d", e.Col)
	}
	return at + ": " + e.Msg
}

// Unwrap returns Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

// emptyFile turns an io.EOF before the header line into a *SyntaxError.
func emptyFile(file, schema string, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return &SyntaxError{File: file, Line: 1, Msg: "expected a header line with \"schema\":\"" + schema + "\", found an empty file"}
}

// decode reads the next line into the scanner and calls parse.
func (l *lines) decode(scan *scanner, parse func()) error {
	line, err := l.next()
	if err != nil {
		return err
	}
	if len(line) == 0 { // only at the end of the text
		at := l.line
		for len(line) == 0 {
			if line, err = l.next(); err != nil {
				return err
			}
		}
		return &SyntaxError{File: l.file, Line: at, Msg: "an empty line; expected one object per line"}
	}
	scan.line, scan.at, scan.msg, scan.col = line, 0, "", 0
	parse()
	if scan.msg == "" {
		return nil
	}
	wrong := &SyntaxError{File: l.file, Line: l.line, Col: scan.col, Msg: scan.msg}
	if l.open && line[len(line)-1] != '}' {
		if l.salvage {
			l.cut = true
			return io.EOF
		}
		wrong.Err = ErrTruncated
	}
	return wrong
}

// The schemas of files, which their header lines name.
const (
	operationsSchema = "lockbench/history/v1"
	// v1 lacks op, turn, script, cut and sources, and truncates arguments at 128 bytes
	commandsSchema = "lockbench/commands/v2"
	faultsSchema   = "lockbench/faults/v1"
	serverSchema   = "lockbench/server/v1" // of Executed events, or Logged steps
	// of the packed operations and commands of all clients while the run is under way, which costs a
	// client a fraction of JSON; at its end they become a history and a commands file
	recordingSchema = "lockbench/recording/v4"
)

// previous maps a schema to the version before it, which the same code reads.
var previous = map[string]string{commandsSchema: "lockbench/commands/v1"}
