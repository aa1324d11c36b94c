package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/verdicts"
)

// tapeSchema is the schema of tapes.
const tapeSchema = "lockbench/tape/v2"

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
	for i, choice := range o.tape {
		all[i] = choice()
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
	is := func(o option) bool { return o.event().name() == c.Do }
	if c.Do == "wait" {
		if m.wait {
			return option{kind: waitForTime}
		}
	} else if i := slices.IndexFunc(m.options, is); i >= 0 {
		return m.options[i]
	} else if possible := m.faults(); slices.ContainsFunc(possible, is) {
		return possible[slices.IndexFunc(possible, is)]
	}
	f.missed++
	return usual
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
