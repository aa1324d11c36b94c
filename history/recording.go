package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lockbench/lockbench/internal/foreign"
)

// RecordingHead returns the first two lines of a recording: its schema and the history's header.
// Blocks follow: the size of the block and of the client's name as little-endian uint32, the name,
// and packed records. A block without a name is a mark: an instant as a little-endian int64, up to
// which the blocks before it have everything. What is behind the last mark is of some clients and
// not of others, and is not read.
func RecordingHead(h Header) []byte { return appendHeader(sidecarHeader(recordingSchema), h) }

// blockHead is the size of the two numbers before a client's name.
const blockHead = 8

// beginBlock starts a client's block in buf, which it overwrites.
func beginBlock(buf []byte, client string) []byte {
	buf = binary.LittleEndian.AppendUint32(buf[:0], 0) // set by endBlock
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(client)))
	return append(buf, client...)
}

// endBlock sets the size of the block, and reports whether it has records.
func endBlock(block []byte, client string) bool {
	binary.LittleEndian.PutUint32(block, uint32(len(block)-blockHead))
	return len(block) > blockHead+len(client)
}

// markBlock returns the block of a mark.
func markBlock(by int64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 8), 0), uint64(by))
}

// mark is how far a recording is complete: the first records of each kind, if they were before an
// instant.
type mark struct {
	by            int64
	ops, commands int
}

// upTo drops what is behind the last mark.
func (r *Recorded) upTo(m mark) {
	r.Ops = slices.DeleteFunc(r.Ops[:m.ops], func(op Operation) bool { return op.Return > m.by })
	for i := range r.Ops {
		r.Ops[i].ID = uint64(i) + 1
	}
	r.Commands = slices.DeleteFunc(r.Commands[:m.commands], func(c Command) bool { return c.Sent > m.by })
}

// readBlock returns the next block; io.EOF after the last, io.ErrUnexpectedEOF if it is truncated.
func readBlock(in io.Reader) (client string, records []byte, err error) {
	var head [blockHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return "", nil, err
	}
	size, name := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if name > size {
		return "", nil, fmt.Errorf("%w: a block of %d bytes with a name of %d", errPacked, size, name)
	}
	block, err := io.ReadAll(io.LimitReader(in, int64(size))) // allocates what is there, not what a damaged size claims
	if err != nil {
		return "", nil, err
	}
	if len(block) < int(size) {
		return "", nil, io.ErrUnexpectedEOF
	}
	return string(block[:name]), block[name:], nil
}

// LoadRecording reads a recording up to its last mark. Errors name the file.
func LoadRecording(path string) (Recorded, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return Recorded{}, err
	}
	out, err := ReadRecording(f, path)
	return out, errors.Join(err, f.Close())
}

// ReadRecording is LoadRecording for a reader; errors name file.
func ReadRecording(r io.Reader, file string) (Recorded, error) {
	out, err := readRecording(r, file)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return out, err
}

func readRecording(r io.Reader, file string) (out Recorded, err error) {
	in := bufio.NewReaderSize(r, 1<<18)
	out.Scripts = map[string]string{}
	if truncatedHead(in) {
		out.Truncated = true
		return out, nil
	}
	if out.Header, err = recordingHeader(in, file); err != nil {
		return out, err
	}
	whole := mark{} // the last
	for {
		client, records, err := readBlock(in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			out.Truncated = !errors.Is(err, io.EOF) || len(out.Ops) > whole.ops || len(out.Commands) > whole.commands
			out.upTo(whole)
			LinkCommands(out.Ops, out.Commands)
			Settle(out.Ops, out.Commands, nil)
			return out, nil
		case err != nil:
			return out, err
		case client == "" && len(records) == 8:
			whole = mark{int64(binary.LittleEndian.Uint64(records)), len(out.Ops), len(out.Commands)}
			continue
		}
		if err := out.unpack(records, client); err != nil {
			return out, err
		}
	}
}

// truncatedHead reports whether a recording ends within its first two lines.
func truncatedHead(in *bufio.Reader) bool {
	text, err := in.Peek(in.Size()) // an error other than io.EOF recurs
	schema := sidecarHeader(recordingSchema)
	return errors.Is(err, io.EOF) && bytes.HasPrefix(schema, text[:min(len(text), len(schema))]) && bytes.Count(text, []byte{'\n'}) < 2
}

// recordingHeader reads the two lines before the blocks.
func recordingHeader(in *bufio.Reader, file string) (h Header, err error) {
	l, scan := &lines{file: file, in: in}, new(scanner)
	if err := l.decode(scan, func() { scan.headerLine(recordingSchema, scan.fields(&struct{}{})) }); err != nil {
		return h, err
	}
	return h, l.decode(scan, func() { h = scan.header() })
}
