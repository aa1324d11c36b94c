package history

import (
	"bytes"
	"encoding/json"
	"io"
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
type LoggedWriter struct{ *frames }

// serverHead is the header of a server file. Raw: its lines are Logged steps.
type serverHead struct {
	Schema string `json:"schema"`
	Source string `json:"source"`
	Raw    bool   `json:"raw,omitempty"`
}

// WriteServer writes what the nodes executed, each node's events in their order, as JSON Lines
// compressed with zstd. source says where the order comes from.
func WriteServer(w io.Writer, source string, events []Executed) error {
	out, err := newFrames(w, appendTagged(nil, serverHead{Schema: serverSchema, Source: source}))
	if err != nil {
		return err
	}
	for i := range events {
		_ = out.line(appendTagged(out.text, &events[i])) // as closing says
	}
	return out.Close()
}

// LoggedHead returns the header of a server file that a LoggedWriter continues. source says where
// the lines come from.
func LoggedHead(source string) ([]byte, error) {
	var head bytes.Buffer
	out, err := newFrames(&head, appendTagged(nil, serverHead{serverSchema, source, true}))
	if err != nil {
		return nil, err
	}
	err = out.Close()
	return head.Bytes(), err
}

// NewLoggedWriter appends to a file that begins with [LoggedHead]. Flush writes what was added as a
// frame of its own, which can be read whatever happens to lockbench after it.
func NewLoggedWriter(w io.Writer) (*LoggedWriter, error) {
	out, err := newFrames(w, nil)
	return &LoggedWriter{out}, err
}

// Add adds a step.
func (w *LoggedWriter) Add(l *Logged) { _ = w.line(appendTagged(w.text, l)) } // as Flush says

// LoadServer reads a server file, plain or zstd. A file that was cut off is read up to there.
func LoadServer(path string) (log ServerLog, err error) {
	log.Events = []Executed{}
	var head serverHead
	log.Cut, err = loadSidecar(path, serverSchema, &head, func(s *scanner) {
		var raw Logged
		var event Executed
		var err error
		if head.Raw {
			err = json.Unmarshal(s.line, &raw)
			log.Raw = append(log.Raw, raw)
		} else {
			err = json.Unmarshal(s.line, &event)
			log.Events = append(log.Events, event)
		}
		switch {
		case err != nil:
			s.failLine("%v", err)
		case event.Node < 0:
			s.failLine("expected a node of at least 0, found %d", event.Node)
		}
	})
	log.Source = head.Source
	return log, err
}
