package history

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// frameSize is how much text is gathered before it is written out, compressed as one frame.
const frameSize = 1 << 20

// frames gathers lines and hands them on as whole frames of whole lines, each with a single Write: what is in the file at
// any moment can be read.
type frames struct {
	w      io.Writer
	zip    *zstd.Encoder // nil: plain text
	text   []byte
	packed []byte
	err    error // the first; nothing is written after it
}

func newFrames(w io.Writer, compress bool) (*frames, error) {
	f := &frames{w: w}
	if !compress {
		return f, nil
	}
	var err error
	f.zip, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(frameSize))
	return f, err
}

// line is called with the text after a line was appended to it.
func (f *frames) line(text []byte) error {
	f.text = text
	if len(f.text) < frameSize {
		return f.err
	}
	return f.flush()
}

// flush ends the frame and writes it.
func (f *frames) flush() error {
	if f.err != nil || len(f.text) == 0 {
		return f.err
	}
	out := f.text
	if f.zip != nil {
		f.packed = f.zip.EncodeAll(f.text, f.packed[:0])
		out = f.packed
	}
	f.text = f.text[:0]
	_, f.err = f.w.Write(out)
	return f.err
}

func (f *frames) close() error {
	err := f.flush()
	if f.zip != nil {
		_ = f.zip.Close() // it has written nothing by itself
	}
	return err
}

// Writer writes a history file. It is used by one goroutine at a time.
type Writer struct{ out *frames }

// NewWriter makes a Writer of plain JSON Lines; the header is written with the first frame.
func NewWriter(w io.Writer, h Header) *Writer {
	return &Writer{&frames{w: w, text: AppendHeader(nil, h)}}
}

// NewZstdWriter makes a Writer of JSON Lines compressed with zstd.
func NewZstdWriter(w io.Writer, h Header) (*Writer, error) {
	f, err := newFrames(w, true)
	if err != nil {
		return nil, err
	}
	f.text = AppendHeader(nil, h)
	return &Writer{f}, nil
}

// WriteHistory writes a whole history, compressed with zstd.
func WriteHistory(w io.Writer, h Header, ops []Operation) error {
	out, err := NewZstdWriter(w, h)
	if err != nil {
		return err
	}
	return writeAll(out, ops)
}

// writeAll writes records and closes the writer, whatever came of it.
func writeAll[T any](w interface {
	Write(*T) error
	Close() error
}, all []T) (err error) {
	for i := range all {
		if err = w.Write(&all[i]); err != nil {
			break
		}
	}
	return errors.Join(err, w.Close())
}

// Write adds an operation. It is in the file after the next Flush, or earlier.
func (w *Writer) Write(op *Operation) error { return w.out.line(AppendOperation(w.out.text, op)) }

// Flush writes what was gathered as one complete frame of complete lines, with a single write.
func (w *Writer) Flush() error { return w.out.flush() }

// Close flushes. What was written to is the caller's to close.
func (w *Writer) Close() error { return w.out.close() }
