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
	buf = binary.LittleEndian.AppendUint32(buf[:0], 0) // set by Spill
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(client)))
	return append(buf, client...)
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
func ReadRecording(r io.Reader, file string) (out Recorded, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
	}()
	in := bufio.NewReaderSize(r, 1<<18)
	out.Scripts = map[string]string{}
	text, err := in.Peek(in.Size()) // an error other than io.EOF recurs
	schema := sidecarHeader(recordingSchema)
	begins := bytes.HasPrefix(schema, text[:min(len(text), len(schema))])
	if errors.Is(err, io.EOF) && begins && bytes.Count(text, []byte{'\n'}) < 2 {
		out.Truncated = true // within its first two lines
		return out, nil
	}
	l, scan := &lines{file: file, in: in}, new(scanner)
	if err := l.decode(scan, func() { scan.headerLine(recordingSchema, scan.fields(&struct{}{})) }); err != nil {
		return out, err
	}
	if err := l.decode(scan, func() { out.Header = scan.header() }); err != nil {
		return out, err
	}
	var whole struct { // up to the last mark: so many records of each kind, those before an instant
		by            int64
		ops, commands int
	}
	for {
		client, records, err := readBlock(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			out.Truncated = !errors.Is(err, io.EOF) || len(out.Ops) > whole.ops || len(out.Commands) > whole.commands
			break
		}
		if err == nil && client == "" && len(records) == 8 {
			whole.by, whole.ops, whole.commands = int64(binary.LittleEndian.Uint64(records)), len(out.Ops), len(out.Commands)
			continue
		}
		if err == nil {
			err = out.unpack(records, client)
		}
		if err != nil {
			return out, err
		}
	}
	out.Ops = slices.DeleteFunc(out.Ops[:whole.ops], func(op Operation) bool { return op.Return > whole.by })
	for i := range out.Ops {
		out.Ops[i].ID = uint64(i) + 1
	}
	out.Commands = slices.DeleteFunc(out.Commands[:whole.commands], func(c Command) bool { return c.Sent > whole.by })
	LinkCommands(out.Ops, out.Commands)
	Settle(out.Ops, out.Commands, nil)
	return out, nil
}
