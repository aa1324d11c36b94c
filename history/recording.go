package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// recordingSchema is the schema of a recording: the packed operations and commands of all clients while the run is under way. It costs a
// client a fraction of JSON, and becomes a history and a commands file at the end of the run.
const recordingSchema = "lockbench/recording/v2"

// RecordingHead returns the first two lines of a recording: its schema and the history's header. Blocks follow: the size of the block and
// of the client's name as little-endian uint32, the name, and packed records.
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

// Recorded is a recording in memory.
type Recorded struct {
	Header   Header
	Ops      []Operation // numbered from 1, each client's in the order of their returns
	Commands []Command
	Scripts  map[string]string // sources of the scripts that clients sent, by digest; not nil
	// Truncated reports that the last block is incomplete, as when the run was killed while it wrote, or even the head; then all else is zero.
	Truncated bool
}

// LoadRecording reads a recording up to its last whole block. Errors name the file.
func LoadRecording(path string) (Recorded, error) {
	f, err := os.Open(path)
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
	for {
		client, records, err := readBlock(in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			out.Truncated = !errors.Is(err, io.EOF)
			LinkCommands(out.Ops, out.Commands)
			return out, nil
		case err != nil:
			return out, err
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
	if err := l.decode(scan, func() { scan.sidecarHeader(recordingSchema) }); err != nil {
		return h, err
	}
	return h, l.decode(scan, func() { h = scan.header() })
}
