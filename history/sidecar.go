package history

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
)

// The schemas of the files beside a history. Their first line is a header with the schema alone.
const (
	CommandsSchema = "lockbench/commands/v2" // v1 has no op, turn, script, cut and sources, and cuts arguments at 128 bytes
	FaultsSchema   = "lockbench/faults/v1"
)

// CommandWriter writes a commands file. It is used by one goroutine at a time.
type CommandWriter struct{ out *frames }

// NewCommandWriter makes a CommandWriter; compress chooses zstd.
func NewCommandWriter(w io.Writer, compress bool) (*CommandWriter, error) {
	f, err := newFrames(w, compress)
	if err != nil {
		return nil, err
	}
	f.text = sidecarHeader(CommandsSchema)
	return &CommandWriter{f}, nil
}

// Write adds a command. It is in the file after the next Flush, or earlier.
func (w *CommandWriter) Write(c *Command) error { return w.out.line(AppendCommand(w.out.text, c)) }

// WriteScript adds the source of a script.
func (w *CommandWriter) WriteScript(s Script) error { return w.out.line(AppendScript(w.out.text, s)) }

// Flush writes what was gathered as one complete frame of complete lines, with a single write.
func (w *CommandWriter) Flush() error { return w.out.flush() }

// Close flushes. What was written to is the caller's to close.
func (w *CommandWriter) Close() error { return w.out.close() }

func sidecarHeader(schema string) []byte {
	return append(appendText(nil, `{"schema":`, schema), '}', '\n')
}

// ReadCommands calls each with every command of a commands file, plain or zstd, and source with every script; nil passes over scripts. The
// command is the callee's to keep.
func ReadCommands(r io.Reader, each func(Command) error, source func(Script)) error {
	return readSidecar(r, "", CommandsSchema, commandLines(each, source))
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

// LoadCommands reads a whole commands file, plain or zstd, and the sources of scripts by digest that are in it.
func LoadCommands(path string) (out []Command, scripts map[string]string, err error) {
	scripts = map[string]string{}
	err = loadSidecar(path, CommandsSchema, commandLines(
		func(c Command) error { out = append(out, c); return nil }, func(s Script) { scripts[s.Digest] = s.Source }))
	return out, scripts, err
}

// WriteCommands writes a whole commands file, compressed with zstd: the sources of scripts, by digest, and then the commands.
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

// FaultsHead is what a faults file begins with: the line of its schema. A window is added to it by AppendWindow.
func FaultsHead() []byte { return sidecarHeader(FaultsSchema) }

// WriteWindows writes a whole faults file, as plain JSON Lines.
func WriteWindows(w io.Writer, windows []Window) error {
	text := FaultsHead()
	for i := range windows {
		text = AppendWindow(text, &windows[i])
	}
	_, err := w.Write(text)
	return err
}

// ReadWindows reads a faults file, plain or zstd.
func ReadWindows(r io.Reader) (out []Window, err error) {
	err = readSidecar(r, "", FaultsSchema, collectWindows(&out))
	return out, err
}

// LoadWindows reads a faults file, plain or zstd.
func LoadWindows(path string) (out []Window, err error) {
	err = loadSidecar(path, FaultsSchema, collectWindows(&out))
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
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(readSidecar(f, path, schema, parse), f.Close())
}

// readSidecar parses each line after the header, and then calls what parse gave. A text that was cut ends before the cut: what
// lies beside a history is evidence, and less evidence is better than none.
func readSidecar(r io.Reader, file, schema string, parse func(s *scanner) func() error) error {
	l, err := newLines(r, file)
	if err != nil {
		return err
	}
	defer l.close()
	l.salvage = true
	scan := new(scanner)
	if err := l.decode(scan, func() { scan.sidecarHeader(schema) }); err != nil {
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

// emptyFile says what an end before the header line means.
func emptyFile(file, schema string, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return &SyntaxError{File: file, Line: 1, Msg: "expected a header line with \"schema\":\"" + schema + "\", found an empty file"}
}
