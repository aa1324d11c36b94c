package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/internal/infile"
)

// Logged is one step in the log of a server, as it was read while the clients ran: before the end
// of the run it is not known which client's command a step is, and what it changed. A server file
// whose header has "raw" has such lines.
type Logged struct {
	Node int   `json:"node"`
	At   int64 `json:"at"` // nanoseconds on the run's base: when it was read, not before the node did it
	// Effect is Restarted or Promoted; "" for commands.
	Effect string `json:"effect,omitempty"`
	// Kept reports that the node goes on with all data that it had.
	Kept bool `json:"kept,omitempty"`
	// Log has the commands with which the server recorded the step, each with its name. Of an
	// effect, they make the data that are left.
	Log [][]string `json:"log"`
}

// ServerLog is what a server file holds.
type ServerLog struct {
	Source string     // where it comes from
	Events []Executed // what the nodes executed, each node's in its order; not nil
	Raw    []Logged   // in place of Events, if the run was killed
	Cut    bool       // the end is missing
}

// LoggedWriter writes a server file while clients run.
type LoggedWriter struct {
	out *frames
	err error
}

// LoggedHead returns the header of a server file that a LoggedWriter continues. source says where
// the lines come from.
func LoggedHead(source string) ([]byte, error) {
	var head bytes.Buffer
	out, err := newFrames(&head, true)
	if err != nil {
		return nil, err
	}
	out.text = append(appendText(appendText(nil, `{"schema":`, serverSchema), `,"source":`, source), ",\"raw\":true}\n"...)
	err = out.close()
	return head.Bytes(), err
}

// NewLoggedWriter appends to a file that begins with [LoggedHead]. Flush writes what was added.
func NewLoggedWriter(w io.Writer) (*LoggedWriter, error) {
	out, err := newFrames(w, true)
	return &LoggedWriter{out: out}, err
}

// Add adds a step.
func (w *LoggedWriter) Add(l *Logged) {
	b := appendInt(append(w.out.text, `{"node":`...), "", int64(l.Node))
	b = appendInt(b, `,"at":`, l.At)
	if l.Effect != "" {
		b = appendText(b, `,"effect":`, l.Effect)
	}
	if l.Kept {
		b = append(b, `,"kept":true`...)
	}
	b = append(b, `,"log":[`...)
	for i, command := range l.Log {
		b = append(b, separator(i, "")...)
		for j, word := range command {
			b = appendText(b, separator(j, "["), word)
		}
		b = append(b, ']')
	}
	w.err = errors.Join(w.err, w.out.line(append(b, ']', '}', '\n')))
}

// Flush writes what was added as a frame of its own, which can be read whatever happens to
// lockbench after it.
func (w *LoggedWriter) Flush() error { return errors.Join(w.err, w.out.flush()) }

// Close flushes, and releases what the writer uses.
func (w *LoggedWriter) Close() error { return errors.Join(w.err, w.out.close()) }

// LoadServer reads a server file, plain or zstd. A file that was cut off is read up to there.
func LoadServer(path string) (log ServerLog, err error) {
	f, err := infile.Open(path)
	if err != nil {
		return log, err
	}
	log, err = readServer(f, path)
	return log, errors.Join(err, f.Close())
}

func readServer(r io.Reader, file string) (log ServerLog, err error) {
	log.Events = []Executed{}
	l, err := newLines(r, file)
	if err != nil {
		return log, err
	}
	defer l.close()
	l.salvage = true
	var head struct {
		Schema, Source string
		Raw            bool
	}
	for {
		text, err := l.next()
		switch {
		case errors.Is(err, io.EOF) && l.line == 1 && !l.cut:
			return log, emptyFile(file, serverSchema, err)
		case errors.Is(err, io.EOF):
			log.Cut = l.cut
			return log, nil
		case err != nil:
			return log, err
		case l.line == 1:
			err = json.Unmarshal(text, &head)
			if err == nil && head.Schema != serverSchema {
				err = fmt.Errorf("expected a header line with \"schema\":%q first", serverSchema)
			}
			log.Source = head.Source
		case strings.TrimSpace(string(text)) == "":
		case head.Raw:
			var one Logged
			err = json.Unmarshal(text, &one)
			log.Raw = append(log.Raw, one)
		default:
			var one Executed
			err = json.Unmarshal(text, &one)
			if err == nil && one.Node < 0 {
				err = fmt.Errorf("expected a node of at least 0, found %d", one.Node)
			}
			log.Events = append(log.Events, one)
		}
		if err != nil {
			if l.open { // the last line, which was not written whole
				log.Cut = true
				return log, nil
			}
			return log, &SyntaxError{File: file, Line: l.line, Msg: err.Error()}
		}
	}
}
