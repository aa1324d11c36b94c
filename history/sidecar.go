package history

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/internal/foreign"
)

// WriteCommands writes a commands file, compressed with zstd: the scripts' sources by digest, then
// the commands.
func WriteCommands(w io.Writer, commands []Command, scripts map[string]string) error {
	out, err := newFrames(w, sidecarHeader(commandsSchema))
	if err != nil {
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(scripts)) {
		_ = out.line(appendTagged(out.text, &Script{digest, scripts[digest]})) // as closing says
	}
	for i := range commands {
		_ = out.line(appendTagged(out.text, &commands[i]))
	}
	return out.Close()
}

// ReadCommands calls each with every command of a commands file, plain or zstd. It may retain its
// argument.
func ReadCommands(r io.Reader, each func(Command)) error {
	_, err := readSidecar(r, "", commandsSchema, unbounded, &struct{}{}, commandLines(each, func(Script) {}))
	return err
}

// LoadCommands reads a commands file, plain or zstd: its commands, and the sources of its scripts
// by digest.
func LoadCommands(path string) (out []Command, scripts map[string]string, err error) {
	scripts = map[string]string{}
	_, err = loadSidecar(path, commandsSchema, &struct{}{}, commandLines(
		func(c Command) { out = append(out, c) }, func(s Script) { scripts[s.Digest] = s.Source }))
	return out, scripts, err
}

// commandLines reads the lines of a commands file; a line is a script if it has a digest.
func commandLines(each func(Command), source func(Script)) func(s *scanner) {
	return func(s *scanner) {
		var c Command
		var script Script
		ofCommand, ofScript := s.fields(&c), s.fields(&script)
		s.record("a command", func(name []byte) {
			switch string(name) {
			case "digest", "source":
				ofScript(name)
			default:
				ofCommand(name)
			}
		})
		c.Args = c.Args[:min(len(c.Args), MaxArgs)]
		switch {
		case script.Digest != "":
		case c.Name == "":
			s.failLine("expected the field \"name\": the command in upper case")
		case c.Replied != 0 && c.Replied < c.Sent:
			s.failLine("replied %d is before sent %d", c.Replied, c.Sent)
		}
		switch {
		case s.msg != "":
		case script.Digest != "":
			source(script)
		default:
			each(c)
		}
	}
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
	_, err = loadSidecar(path, faultsSchema, &struct{}{}, windowLines(&out))
	return out, err
}

// windowLines reads the lines of a faults file.
func windowLines(out *[]Window) func(s *scanner) {
	return func(s *scanner) {
		w := Window{Node: -1}
		s.record("a fault window", s.fields(&w))
		if w.Fault == "" {
			s.failLine("expected the field \"fault\": a name such as pause-client")
		}
		if w.End != 0 && w.End < w.Start {
			s.failLine("end %d is before start %d", w.End, w.Start)
		}
		if s.msg == "" {
			*out = append(*out, w)
		}
	}
}

// A sidecar is kept in memory, where a record takes sidecarLine bytes and its text. What a run has
// written fits into sidecarRatio times its file; a file of a few bytes that unpacks to many does
// not.
const (
	sidecarRoom  = 256 << 20 // bytes
	sidecarRatio = 40
	sidecarLine  = 200                              // bytes
	unbounded    = math.MaxInt64 / sidecarRatio / 2 // the size of a file that is not kept
)

func loadSidecar(path, schema string, head any, parse func(s *scanner)) (cut bool, err error) {
	f, err := foreign.Open(path)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err == nil {
		cut, err = readSidecar(f, path, schema, info.Size(), head, parse)
	}
	return cut, errors.Join(err, f.Close())
}

// readSidecar reads the fields of the header into the struct that head points to, and has parse
// read each line after it. size is that of the file. A truncated file ends before the damage,
// without an error, and is reported as cut: less evidence is better than none.
func readSidecar(r io.Reader, file, schema string, size int64, head any, parse func(s *scanner)) (cut bool, err error) {
	l, err := newLines(r, file)
	if err != nil {
		return false, err
	}
	defer l.close()
	l.salvage = true
	scan := new(scanner)
	err = l.decode(scan, func() { scan.headerLine(schema, scan.fields(head)) })
	if err != nil && !l.cut {
		return false, emptyFile(file, schema, err)
	}
	for left := sidecarRoom + sidecarRatio*size; err == nil; {
		if err = l.decode(scan, func() { parse(scan) }); err != nil {
			break
		}
		if left -= int64(len(scan.line)) + sidecarLine; left < 0 {
			err = &SyntaxError{File: file, Msg: fmt.Sprintf("its %d bytes unpack to more than would fit in memory", size)}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return l.cut, err
}
