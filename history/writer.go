package history

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// frameSize is how many bytes of text are buffered for one frame.
const frameSize = 1 << 20

// frames buffers lines and writes them as whole frames of whole lines, each with a single Write, so
// that the file is readable at any time.
type frames struct {
	w      io.Writer
	zip    *zstd.Encoder // nil: plain text
	text   []byte
	packed []byte
	err    error // the first; later writes are dropped
}

// newFrames returns frames that are compressed, and begin with a text.
func newFrames(w io.Writer, head []byte) (*frames, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(frameSize))
	return &frames{w: w, zip: zip, text: head}, err
}

// line replaces text by the caller's copy, to which a line was appended.
func (f *frames) line(text []byte) error {
	f.text = text
	if len(f.text) < frameSize {
		return f.err
	}
	return f.Flush()
}

// Flush writes the buffered lines as one complete frame, with a single write.
func (f *frames) Flush() error {
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

// Close flushes; it does not close the underlying writer.
func (f *frames) Close() error {
	err := f.Flush()
	if f.zip != nil {
		_ = f.zip.Close() // EncodeAll leaves nothing to flush
	}
	return err
}

// Writer writes a history file. It is used by one goroutine at a time.
type Writer struct{ *frames }

// NewWriter returns a Writer of plain JSON Lines; the header is written with the first frame.
func NewWriter(w io.Writer, h Header) *Writer {
	return &Writer{&frames{w: w, text: appendHeader(nil, h)}}
}

// NewZstdWriter returns a Writer of JSON Lines compressed with zstd.
func NewZstdWriter(w io.Writer, h Header) (*Writer, error) {
	out, err := newFrames(w, appendHeader(nil, h))
	return &Writer{out}, err
}

// Write adds an operation. It reaches the file at the next Flush or earlier.
func (w *Writer) Write(op *Operation) error { return w.line(AppendOperation(w.text, op)) }

// WriteHistory writes a history, compressed with zstd, in the order of the returns: if the file
// loses its end, it still shows what all clients did up to a moment, and not what some of them did
// in the whole run.
func WriteHistory(w io.Writer, h Header, ops []Operation) error {
	out, err := NewZstdWriter(w, h)
	if err != nil {
		return err
	}
	inOrder := make([]*Operation, len(ops))
	for i := range ops {
		inOrder[i] = &ops[i]
	}
	slices.SortStableFunc(inOrder, func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	for _, op := range inOrder {
		if err = out.Write(op); err != nil {
			break
		}
	}
	return errors.Join(err, out.Close())
}
