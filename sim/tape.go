package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// TapeSchema is the schema name of a tape file.
const TapeSchema = "lockbench/tape/v1"

// Tape is a schedule that can be run again: the program, what the search was allowed, and every choice that was not the
// default. The same tape gives the same trace, byte for byte.
type Tape struct {
	Schema   string           `json:"schema"`
	Program  Program          `json:"program"`
	Bounds   Bounds           `json:"bounds"`
	Choices  []Choice         `json:"choices"`
	Hash     string           `json:"hash"` // of the trace
	Property history.Property `json:"property,omitempty"`
	Cause    history.Cause    `json:"cause,omitempty"`
	Steps    []string         `json:"steps,omitempty"` // the story, for people
}

// ReadTape reads a tape from JSON.
func ReadTape(r io.Reader) (Tape, error) {
	var t Tape
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return Tape{}, fmt.Errorf("tape: %w", err)
	}
	if t.Schema != TapeSchema {
		return Tape{}, fmt.Errorf("tape: schema %q, want %q", t.Schema, TapeSchema)
	}
	return t, nil
}

// WriteTo writes the tape as JSON.
func (t Tape) WriteTo(w io.Writer) (int64, error) {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return 0, fmt.Errorf("tape: %w", err)
	}
	n, err := w.Write(append(b, '\n'))
	return int64(n), err
}

// String is the tape as JSON on one line.
func (t Tape) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		return "" // unreachable: a tape has nothing that JSON cannot say
	}
	return string(b)
}

// Choice is one thing that a strategy chose and that the default would not have done.
type Choice struct {
	At int    `json:"at"` // the step, from 0
	Do string `json:"do"` // name of the option, such as "request c2-n1" or "pause-client c1 1.5s"
}

// fault is the name of the fault that a choice placed, if it did.
func (c Choice) fault() (string, bool) {
	name, _, _ := strings.Cut(c.Do, " ")
	kind, _ := faults.FindKind(name)
	return name, kind.Placed != faults.NotPlaced
}

// follow replays choices. A choice that is not possible at its step is passed over: shrinking relies on it, and a replay of
// an unchanged tape never meets one.
type follow struct {
	choices []Choice
	missed  int
}

func (f *follow) choose(m moves) option {
	for len(f.choices) > 0 && f.choices[0].At < m.step {
		f.choices = f.choices[1:]
		f.missed++
	}
	if len(f.choices) == 0 || f.choices[0].At > m.step {
		return oldest(m.options)
	}
	want := f.choices[0].Do
	f.choices = f.choices[1:]
	if o, ok := named(want, m); ok {
		return o
	}
	f.missed++
	return oldest(m.options)
}

// named finds an option by its name.
func named(want string, m moves) (option, bool) {
	if want == "wait" {
		return option{kind: waitForTime}, m.wait
	}
	for _, o := range m.options {
		if o.name() == want {
			return o, true
		}
	}
	for _, o := range m.faults() {
		if o.name() == want {
			return o, true
		}
	}
	return option{}, false
}
