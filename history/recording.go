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

// RecordingSchema is the schema name in the first line of a recording, which is a run's record while it goes on: the packed records of all
// clients, operations and commands, as Spill adds them to the file. It costs a client a fraction of what JSON would, and is turned into a
// history and a commands file when the clients are done.
const RecordingSchema = "lockbench/recording/v2"

// RecordingHead is what a recording begins with: two lines, the schema's and the header of the history. Blocks follow: the bytes of the block and
// of its client's name as two little-endian numbers of 32 bits, the name, and packed records.
func RecordingHead(h Header) []byte { return AppendHeader(sidecarHeader(RecordingSchema), h) }

// blockHead is what stands before a client's name.
const blockHead = 8

// beginBlock starts a block of a client's behind nothing, in a buffer that is used again.
func beginBlock(buf []byte, client string) []byte {
	buf = binary.LittleEndian.AppendUint32(buf[:0], 0) // endBlock knows
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(client)))
	return append(buf, client...)
}

// endBlock returns the block its length; false when it has no records.
func endBlock(block []byte, client string) bool {
	binary.LittleEndian.PutUint32(block, uint32(len(block)-blockHead))
	return len(block) > blockHead+len(client)
}

// readBlock returns the next block: io.EOF behind the last, io.ErrUnexpectedEOF where a block is not all there.
func readBlock(in io.Reader) (client string, records []byte, err error) {
	var head [blockHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return "", nil, err
	}
	size, name := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if name > size {
		return "", nil, fmt.Errorf("%w: a block of %d bytes with a name of %d", errPacked, size, name)
	}
	block, err := io.ReadAll(io.LimitReader(in, int64(size))) // grows with what is there, and not with what a damaged length says
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
	Scripts  map[string]string // sources by digest, of scripts that clients sent; not nil
	// Truncated tells that the last block was cut off, as when the run was killed while it wrote; or what stands before the blocks: then
	// nothing is known, the header included.
	Truncated bool
}

// LoadRecording reads a recording to its last whole block. An error names the file.
func LoadRecording(path string) (Recorded, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recorded{}, err
	}
	out, err := ReadRecording(f, path)
	return out, errors.Join(err, f.Close())
}

// ReadRecording is LoadRecording of what a reader gives; file is its name in errors.
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
	if cutInHead(in) {
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

// cutInHead reports whether what begins as a recording does ends before its two lines do.
func cutInHead(in *bufio.Reader) bool {
	text, err := in.Peek(in.Size()) // an error other than the end comes again
	schema := sidecarHeader(RecordingSchema)
	return errors.Is(err, io.EOF) && bytes.HasPrefix(schema, text[:min(len(text), len(schema))]) && bytes.Count(text, []byte{'\n'}) < 2
}

// recordingHeader reads the two lines before the blocks.
func recordingHeader(in *bufio.Reader, file string) (h Header, err error) {
	l, scan := &lines{file: file, in: in}, new(scanner)
	if err := l.decode(scan, func() { scan.sidecarHeader(RecordingSchema) }); err != nil {
		return h, err
	}
	return h, l.decode(scan, func() { h = scan.header() })
}
