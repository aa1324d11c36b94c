package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/internal/infile"
	"github.com/lockbench/lockbench/verdicts"
)

// tapeSchema is the schema of tapes.
const tapeSchema = "lockbench/tape/v2"

// tapeSchemaV1 names choices by their positions, which change when a client sends one more command.
const tapeSchemaV1 = "lockbench/tape/v1"

// errOldTape is returned for a tape of the first version, which is no longer supported.
var errOldTape = errors.New("its choices are positions, which are not followed any more; explore the lock again")

// Tape is a schedule to be replayed: the program, the bounds, and every choice other than the
// default. It always gives the same trace, byte for byte.
type Tape struct {
	Schema   string   `json:"schema"`
	Program  Program  `json:"program"`
	Bounds   Bounds   `json:"bounds"`
	Commands []string `json:"commands,omitempty"` // the names of the commands sent, without handshakes
	Choices  []Choice `json:"choices"`
	Hash     string   `json:"hash"` // of the trace
	// of a world outside the simulator, where choices alone do not determine everything
	Schedule faults.Schedule   `json:"schedule,omitempty"`
	Property verdicts.Property `json:"property,omitempty"`
	Cause    verdicts.Cause    `json:"cause,omitempty"`
	Steps    []string          `json:"steps,omitempty"` // the story, for people
}

// Key returns "property/cause" of the tape's violation.
func (t Tape) Key() string { return verdicts.Break{Property: t.Property, Cause: t.Cause}.String() }

// ReadTape reads a tape from JSON, of at most [infile.MaxDocument] bytes. A word that is not known,
// and a value that cannot be, is an error.
func ReadTape(r io.Reader) (Tape, error) {
	var t Tape
	text, err := io.ReadAll(io.LimitReader(r, infile.MaxDocument+1))
	if err == nil && len(text) > infile.MaxDocument {
		err = fmt.Errorf("larger than %d bytes", infile.MaxDocument)
	}
	if err == nil {
		err = infile.Unmarshal(text, &t)
	}
	switch {
	case err != nil:
	case t.Schema == tapeSchema:
		err = t.validate()
	case t.Schema == tapeSchemaV1:
		err = fmt.Errorf("schema %q, want %q: %w", t.Schema, tapeSchema, errOldTape)
	default:
		err = fmt.Errorf("schema %q, want %q", t.Schema, tapeSchema)
	}
	if err != nil {
		return Tape{}, fmt.Errorf("tape: %w", err)
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

// String returns the tape as JSON on one line.
func (t Tape) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		return "" // unreachable: every tape can be marshalled
	}
	return string(b)
}

// Choice is a choice other than the default. It names events, not positions: it stays valid when
// something else happens besides, as one more handshake.
type Choice struct {
	// the event that the default would have chosen, such as "request c1-n1 SET#2"
	Before string `json:"before,omitempty"`
	// the event that was chosen, named alike, or a fault, such as "pause-client c1 1.5s"
	Do string `json:"do"`
	// in a tape of a world outside the simulator, instead of Before: the step, from 0
	At int `json:"at,omitempty"`
}

// deviation is a choice whose names are made when needed.
type deviation struct {
	usual, chosen event
	named         *Choice // set in a world outside, where it is named by its step at once
}

func (d deviation) choice() Choice {
	if d.named != nil {
		return *d.named
	}
	return Choice{Before: d.usual.name(), Do: d.chosen.name()}
}

// commandNames returns the names of the commands that were sent, each once.
func (o Outcome) commandNames() (names []string) {
	for _, c := range o.Commands {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tape returns the tape of a schedule within bounds, which names no violation.
func (o Outcome) Tape(b Bounds) Tape {
	return Tape{Schema: tapeSchema, Program: o.Program, Bounds: b, Commands: o.commandNames(), Choices: o.choices(), Hash: hashText(o.Hash), Schedule: o.Schedule}
}

func hashText(h uint64) string { return strconv.FormatUint(h, 16) }

func (o Outcome) choices() []Choice {
	all := make([]Choice, len(o.tape))
	for i, d := range o.tape {
		all[i] = d.choice()
	}
	return all
}

// Fault returns the name of the fault that a choice placed, if any.
func (c Choice) Fault() (string, bool) {
	name, _, _ := strings.Cut(c.Do, " ")
	kind, _ := faults.FindKind(name)
	return name, kind.Placed != faults.NotPlaced
}

// follow replays choices. It skips a choice that is not possible when it is due: shrinking relies
// on that, and a replay of an unchanged tape never does. Choices before different events need no
// order, because an event stays the default until it happens.
type follow struct {
	choices  []Choice
	commands []string // that the tape knows; nil: not recorded
	missed   int
}

// Follow returns the strategy that replays the tape's choices.
func (t Tape) Follow() Strategy { return &follow{choices: t.Choices, commands: t.Commands} }

func (f *follow) choose(m moves) option {
	usual := oldest(m.options)
	if len(f.choices) == 0 {
		return usual
	}
	before := usual.event().name()
	i := slices.IndexFunc(f.choices, func(c Choice) bool { return c.Before == before || c.Before == "" && c.At == m.step })
	if i < 0 {
		return usual
	}
	c := f.choices[i]
	f.choices = slices.Delete(slices.Clone(f.choices), i, i+1)
	if o, ok := c.find(m); ok {
		return o
	}
	f.missed++
	return usual
}

func (c Choice) find(m moves) (option, bool) {
	if c.Do == "wait" {
		return option{kind: waitForTime}, m.wait
	}
	is := func(o option) bool { return o.event().name() == c.Do }
	if i := slices.IndexFunc(m.options, is); i >= 0 {
		return m.options[i], true
	}
	possible := m.faults()
	if i := slices.IndexFunc(possible, is); i >= 0 {
		return possible[i], true
	}
	return option{}, false
}

// GoTest returns a Go test for pasting into a _test.go file, which runs the tape and fails while
// the violation occurs.
func (t Tape) GoTest() string {
	var b strings.Builder
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, t.Program.Lock+"_"+string(t.Property))
	t.Steps = nil
	fmt.Fprintf(&b, "// needs: strings, testing, github.com/lockbench/lockbench/sim, github.com/lockbench/lockbench/sim/search, github.com/lockbench/lockbench/impls/catalogue\nfunc Test_%s(t *testing.T) {\n", name)
	fmt.Fprintf(&b, "\tconst text = `%s`\n", strings.ReplaceAll(t.String(), "`", "` + \"`\" + `"))
	b.WriteString("\ttape, err := sim.ReadTape(strings.NewReader(text))\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	b.WriteString("\ts := sim.New(catalogue.Known{})\n\tdefer s.Close()\n")
	b.WriteString("\tbroken, story, err := search.Breaks(t.Context(), s, tape)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	b.WriteString("\tif broken {\n\t\tt.Errorf(\"%s/%s:\\n%s\", tape.Property, tape.Cause, strings.Join(story, \"\\n\"))\n\t}\n}\n")
	return b.String()
}
