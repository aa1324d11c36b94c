package history

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/lockbench/lockbench/internal/infile"
)

// CommandWriter writes a commands file.
type CommandWriter struct{ LineWriter[Command] }

// NewCommandWriter returns a CommandWriter to w; compress selects zstd.
func NewCommandWriter(w io.Writer, compress bool) (*CommandWriter, error) {
	f, err := newFrames(w, compress)
	if err != nil {
		return nil, err
	}
	f.text = sidecarHeader(commandsSchema)
	return &CommandWriter{LineWriter[Command]{f, appendCommand}}, nil
}

// WriteScript adds the source of a script.
func (w *CommandWriter) WriteScript(s Script) error { return w.out.line(appendScript(w.out.text, s)) }

// ReadCommands calls each with every command of a commands file, plain or zstd, and source, if not
// nil, with every script. Both may retain their arguments.
func ReadCommands(r io.Reader, each func(Command) error, source func(Script)) error {
	return readSidecar(r, "", commandsSchema, commandLines(each, source))
}

// commandLines parses the lines of a commands file.
func commandLines(each func(Command) error, source func(Script)) func(s *scanner) func() error {
	return func(s *scanner) func() error {
		var c Command
		var script Script
		s.command(&c, &script)
		return func() error {
			if script.Digest == "" {
				return each(c)
			}
			if source != nil {
				source(script)
			}
			return nil
		}
	}
}

// LoadCommands reads a commands file, plain or zstd: its commands, and the sources of its scripts
// by digest.
func LoadCommands(path string) (out []Command, scripts map[string]string, err error) {
	scripts = map[string]string{}
	err = loadSidecar(path, commandsSchema, commandLines(
		func(c Command) error { out = append(out, c); return nil }, func(s Script) { scripts[s.Digest] = s.Source }))
	return out, scripts, err
}

// WriteCommands writes a commands file, compressed with zstd: the scripts' sources by digest, then
// the commands.
func WriteCommands(w io.Writer, commands []Command, scripts map[string]string) error {
	out, err := NewCommandWriter(w, true)
	if err != nil {
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(scripts)) {
		if err := out.WriteScript(Script{digest, scripts[digest]}); err != nil {
			return err
		}
	}
	return writeAll(out, commands)
}

// FaultsHead returns the header line of a faults file. AppendWindow appends a window.
func FaultsHead() []byte { return sidecarHeader(faultsSchema) }

// WriteWindows writes a faults file as plain JSON Lines.
func WriteWindows(w io.Writer, windows []Window) error {
	text := FaultsHead()
	for i := range windows {
		text = AppendWindow(text, &windows[i])
	}
	_, err := w.Write(text)
	return err
}

// LoadWindows reads a faults file, plain or zstd.
func LoadWindows(path string) (out []Window, err error) {
	err = loadSidecar(path, faultsSchema, collectWindows(&out))
	return out, err
}

func collectWindows(out *[]Window) func(s *scanner) func() error {
	return func(s *scanner) func() error {
		var w Window
		s.window(&w)
		return func() error { *out = append(*out, w); return nil }
	}
}

func loadSidecar(path, schema string, parse func(s *scanner) func() error) error {
	f, err := infile.Open(path)
	if err != nil {
		return err
	}
	room, err := newSidecarRoom(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	bounded := func(s *scanner) func() error {
		take := parse(s)
		if full := room.take(len(s.line)); full != nil {
			return func() error { return full }
		}
		return take
	}
	return errors.Join(readSidecar(f, path, schema, bounded), f.Close())
}

// A sidecar is kept in memory, where a record takes sidecarLine bytes and its text. What a run has
// written fits into sidecarRatio times its file; a file of a few bytes that unpacks to many does
// not.
const (
	sidecarRoom  = 256 << 20 // bytes
	sidecarRatio = 40
	sidecarLine  = 200 // bytes
)

// room is what is left of the memory for a sidecar.
type room struct {
	file       string
	size, left int64 // bytes
}

func newSidecarRoom(f *os.File) (*room, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &room{f.Name(), info.Size(), sidecarRoom + sidecarRatio*info.Size()}, nil
}

// take makes room for a record that was a line of so many bytes.
func (r *room) take(line int) error {
	if r.left -= int64(line) + sidecarLine; r.left < 0 {
		return &SyntaxError{File: r.file, Msg: fmt.Sprintf("its %d bytes unpack to more than would fit in memory", r.size)}
	}
	return nil
}

// readSidecar parses each line after the header, and then calls the function that parse returned. A
// truncated file ends before the damage, without an error: less evidence is better than none.
func readSidecar(r io.Reader, file, schema string, parse func(s *scanner) func() error) error {
	l, err := newLines(r, file)
	if err != nil {
		return err
	}
	defer l.close()
	l.salvage = true
	scan := new(scanner)
	if err := l.decode(scan, func() { scan.sidecarHeader(schema) }); err != nil {
		if l.cut {
			return nil
		}
		return emptyFile(file, schema, err)
	}
	for {
		var take func() error
		err := l.decode(scan, func() { take = parse(scan) })
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
}
