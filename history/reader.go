package history

import (
	"cmp"
	"errors"
	"io"
	"os"

	"github.com/lockbench/lockbench/internal/foreign"
)

// Reader reads a history file. It is used by one goroutine at a time.
type Reader struct {
	lines  *lines
	scan   *scanner
	header Header
	err    error  // sticky result of Next
	count  uint64 // of the operations read
}

// NewReader reads the header line of a history, plain or zstd by its first bytes. The caller closes
// the Reader, and r after it.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, "") }

// Open opens a history file, plain or zstd by its first bytes. Close closes it.
func Open(path string) (*Reader, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.lines.closer = f
	return r, nil
}

func newReader(in io.Reader, file string) (*Reader, error) {
	l, err := newLines(in, file)
	if err != nil {
		return nil, err
	}
	r := &Reader{lines: l, scan: new(scanner)}
	if err := l.decode(r.scan, func() { r.header = r.scan.header() }); err != nil {
		return nil, errors.Join(emptyFile(file, operationsSchema, err), l.close())
	}
	return r, nil
}

// Header returns the header line.
func (r *Reader) Header() Header { return r.header }

// Salvage makes Next return io.EOF instead of an error at a truncated frame or last line, which a
// killed run leaves.
func (r *Reader) Salvage() { r.lines.salvage = true }

// Truncated reports whether the file was truncated, once Next has returned io.EOF.
func (r *Reader) Truncated() bool { return r.lines.cut }

// Next reads the next operation into op; io.EOF after the last. Other errors are a *SyntaxError or
// come from the underlying reader. Errors are sticky. Operation n is on line n+1: empty lines are
// errors, except at the end. An operation without an id has n for its id.
func (r *Reader) Next(op *Operation) error {
	if r.err != nil {
		return r.err
	}
	if r.err = r.lines.decode(r.scan, func() { r.scan.operation(op) }); r.err == nil {
		r.count++
		op.ID = cmp.Or(op.ID, r.count)
	}
	return r.err
}

// Close stops the decompressor and closes the file if Open opened it.
func (r *Reader) Close() error {
	if r.err == nil {
		r.err = os.ErrClosed
	}
	return r.lines.close()
}
