package history

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// RecordingSchema is the schema name in the first line of a recording. The header of the history is the second. Blocks follow: the bytes of
// the block and of its client's name as two little-endian numbers of 32 bits, the name, and packed records.
const RecordingSchema = "lockbench/recording/v1"

// Recording is a run's record while it goes on: the packed records of all clients, operations and commands, spilled block by block. It
// costs a client a fraction of what JSON would, and is turned into a history and a commands file when the clients are done.
type Recording struct{ file *os.File }

// CreateRecording makes a recording file. Close closes it.
func CreateRecording(path string, h Header) (*Recording, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(AppendHeader(sidecarHeader(RecordingSchema), h)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Recording{f}, nil
}

// Write adds whole blocks.
func (r *Recording) Write(blocks []byte) (int, error) { return r.file.Write(blocks) }

// Close closes the file.
func (r *Recording) Close() error { return r.file.Close() }

// blockHead is what stands before a client's name.
const blockHead = 8

// beginBlock starts a block of a client's behind nothing, in a buffer that is used again.
func beginBlock(buf []byte, client string) []byte {
	buf = binary.LittleEndian.AppendUint32(buf[:0], 0) // endBlock knows
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(client)))
	return append(buf, client...)
}

// endBlock gives the block its length; false when it has no records.
func endBlock(block []byte, client string) bool {
	binary.LittleEndian.PutUint32(block, uint32(len(block)-blockHead))
	return len(block) > blockHead+len(client)
}

// readBlock gives the next block: io.EOF behind the last, io.ErrUnexpectedEOF where a block is not all there.
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
	// Truncated tells that the last block was cut off, as when the run was killed while it wrote.
	Truncated bool
}

// LoadRecording reads a recording to its last whole block. An error names the file.
func LoadRecording(path string) (Recorded, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recorded{}, err
	}
	out, err := readRecording(f, path)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return out, errors.Join(err, f.Close())
}

func readRecording(r io.Reader, file string) (out Recorded, err error) {
	in := bufio.NewReaderSize(r, 1<<18)
	if out.Header, err = recordingHeader(in, file); err != nil {
		return out, err
	}
	for {
		client, records, err := readBlock(in)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			out.Truncated = true
			return out, nil
		case err != nil:
			return out, err
		}
		if err := out.take(client, records); err != nil {
			return out, err
		}
	}
}

// take adds the records of a client's block.
func (r *Recorded) take(client string, records []byte) error {
	return unpack(records, func(op Operation) {
		op.Client, op.ID = client, uint64(len(r.Ops))+1
		r.Ops = append(r.Ops, op)
	}, func(c Command) {
		c.Client = client
		r.Commands = append(r.Commands, c)
	})
}

// recordingHeader reads the two lines before the blocks.
func recordingHeader(in *bufio.Reader, file string) (h Header, err error) {
	l, scan := &lines{file: file, in: in}, new(scanner)
	if err := l.decode(scan, func() { scan.sidecarHeader(RecordingSchema) }); err != nil {
		return h, emptyFile(file, RecordingSchema, err)
	}
	return h, l.decode(scan, func() { h = scan.header() })
}
