package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/jsonat"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// tapeSchema is the schema name of a tape file.
const tapeSchema = "lockbench/tape/v2"

// tapeSchemaV1 names choices by their positions, which change when a client sends one more command.
const tapeSchemaV1 = "lockbench/tape/v1"

// errOldTape is returned for a tape of the first version, which is no longer supported.
var errOldTape = errors.New("its choices are positions, which are not followed any more; explore the lock again")

// Tape is a schedule that can be replayed: the program, the bounds of the search, and every choice other than the default. The same tape gives the
// same trace, byte for byte.
type Tape struct {
	Schema   string            `json:"schema"`
	Program  Program           `json:"program"`
	Bounds   Bounds            `json:"bounds"`
	Commands []string          `json:"commands,omitempty"` // the names of the commands sent, without handshakes
	Choices  []Choice          `json:"choices"`
	Hash     string            `json:"hash"`               // of the trace
	Schedule faults.Schedule   `json:"schedule,omitempty"` // of a world outside the simulator, where choices alone do not determine everything
	Property verdicts.Property `json:"property,omitempty"`
	Cause    verdicts.Cause    `json:"cause,omitempty"`
	Steps    []string          `json:"steps,omitempty"` // the story, for people
}

// ReadTape reads a tape from JSON.
func ReadTape(r io.Reader) (Tape, error) {
	var t Tape
	text, err := io.ReadAll(r)
	if err == nil {
		err = jsonat.Unmarshal(text, &t)
	}
	if err != nil {
		return Tape{}, fmt.Errorf("tape: %w", err)
	}
	switch t.Schema {
	case tapeSchema:
		return t, nil
	case tapeSchemaV1:
		return Tape{}, fmt.Errorf("tape: schema %q, want %q: %w", t.Schema, tapeSchema, errOldTape)
	}
	return Tape{}, fmt.Errorf("tape: schema %q, want %q", t.Schema, tapeSchema)
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

// Choice is a choice other than the default. It names events instead of positions, so that it stays valid when something else happens besides, such
// as one more handshake.
type Choice struct {
	Before string `json:"before,omitempty"` // the event that the default would have chosen, such as "request c1-n1 SET#2"
	Do     string `json:"do"`               // the event that was chosen, named alike, or a fault, such as "pause-client c1 1.5s"
	At     int    `json:"at,omitempty"`     // in a tape of a world outside the simulator, instead of Before: the step, from 0
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
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// choices returns the choices of the schedule's tape.
func (o Outcome) choices() []Choice {
	all := make([]Choice, len(o.tape))
	for i, d := range o.tape {
		all[i] = d.choice()
	}
	return all
}

// fault returns the name of the fault that a choice placed, if any.
func (c Choice) fault() (string, bool) {
	name, _, _ := strings.Cut(c.Do, " ")
	kind, _ := faults.FindKind(name)
	return name, kind.Placed != faults.NotPlaced
}

// follow replays choices. It skips a choice that is not possible when it is due: shrinking relies on that, and a replay of an unchanged tape never
// does. Choices before different events need no order, because an event stays the default until it happens.
type follow struct {
	choices  []Choice
	commands []string // that the tape knows; nil: not recorded
	missed   int
}

func (t Tape) follow() *follow { return &follow{choices: t.Choices, commands: t.Commands} }

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

// find returns the option that was chosen.
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

// ErrDiverged is returned if a replay does not reproduce the trace of its tape. The program, the lock or lockbench has changed, or the lock is not
// deterministic: it depends on a clock, a random source or a goroutine order of its own.
var ErrDiverged = errors.New("the replay diverged from the tape")

// Simulator runs single schedules in this process, one at a time. Locks must be known to behave: one that panics in its own goroutine or spins
// takes the process with it. [Explore] isolates that in worker processes.
type Simulator struct{ host *host }

// New returns a simulator of programs whose locks are in the catalogue; nil is for programs that carry their Variant. The caller closes it.
func New(known Catalogue) *Simulator { return &Simulator{newHost(known)} }

// Close closes the nodes. The error is always nil.
func (s *Simulator) Close() error {
	s.host.close()
	return nil
}

// Run runs a program once. Its only faults are the program's; the order of messages is drawn from the seed, and so is how long they take: up to delay at
// once, but no longer than a search lets them by default; 0 means no time. An error means that the program is invalid.
func (s *Simulator) Run(p Program, delay time.Duration) (Outcome, error) {
	b := Bounds{MaxDelay: min(delay, p.Config.Lease/delaysPerLease)}
	if b.MaxDelay > 0 {
		b.MaxWaits = math.MaxInt
	}
	order := newRandom(p.Seed, b, 0)
	order.waits = usualWaits
	return s.host.run(p, order, b, false)
}

// usualWaits is the chance with which Run lets time pass at a step while messages are on their way.
const usualWaits = 0.1

// Replay runs a tape and keeps the trace. It returns ErrDiverged if the trace is not the tape's.
func (s *Simulator) Replay(t Tape) (Outcome, error) {
	out, err := s.host.run(t.Program, t.follow(), t.Bounds, true)
	if err != nil {
		return Outcome{}, err
	}
	if got := hashText(out.Hash); got != t.Hash || out.Missed > 0 {
		return out, fmt.Errorf("%w: trace %s, want %s; %d choices were not possible", ErrDiverged, got, t.Hash, out.Missed)
	}
	return out, nil
}

// Breaks runs a tape and reports whether its violation still occurs, with the story. A run that has diverged because the lock was changed is judged
// like any other.
func (s *Simulator) Breaks(ctx context.Context, t Tape) (bool, []string, error) {
	out, err := s.host.run(t.Program, t.follow(), t.Bounds, false)
	if err != nil {
		return false, nil, err
	}
	p, err := t.Program.resolve(s.host.known)
	if err != nil {
		return false, nil, err
	}
	all, err := judge(ctx, out, p, true)
	if err != nil {
		return false, nil, err
	}
	for _, b := range all {
		if b.Property == t.Property && b.Cause == t.Cause {
			return true, b.Story, nil
		}
	}
	return false, nil, nil
}

// note adds a step to the schedule of a run whose trace is kept, and returns its number.
func (w *world) note(s faults.Step) int {
	if !w.trace.keep {
		return 0
	}
	s.ID, s.At = len(w.schedule)+1, w.timeline()
	w.schedule = append(w.schedule, s)
	return s.ID
}

func (w *world) noteRequest(q *request, lost bool) {
	if !w.trace.keep {
		return // before making the step, which costs more than the event
	}
	q.noted = w.note(q.step(faults.Step{Kind: faults.StepRequest, Sent: q.sent, Lost: lost}))
}

// noteReply skips messages to subscribers, which are not in a schedule.
func (w *world) noteReply(r *reply, lost bool) {
	if w.trace.keep && r.request != nil {
		w.note(r.request.step(faults.Step{Kind: faults.StepReply, Of: r.request.noted, Lost: lost}))
	}
}

func (w *world) noteMoment(c *client, m history.Moment) {
	if !w.trace.keep {
		return
	}
	w.note(faults.Step{Kind: faults.StepMoment, Client: c.name, Command: string(m)})
}

// step fills in the client, node and command of a message.
func (q *request) step(s faults.Step) faults.Step {
	c := commandOf(q)
	s.Client, s.Node, s.Command = c.Client, c.Node, c.Name
	if strings.HasPrefix(c.Name, "EVAL") {
		s.Command += " " + c.Args[0]
	}
	return s
}

// noteFault records that a fault begins. A standing one is in the tape's program, not in the schedule.
func (w *world) noteFault(f *faults.Fault) {
	if !w.trace.keep || f.Standing() {
		return
	}
	kind, _ := faults.FindKind(f.Fault)
	at := f.Window()
	spec := faults.Spec{Fault: f.Fault, Client: workloads.ClientIndex(at.Client) + 1, By: f.By, Rate: f.Rate}
	if at.Node >= 0 && (kind.On == faults.OneNode || kind.In == faults.InMessage || f.Node > 0) {
		spec.Node = at.Node + 1
	}
	f.ID = w.note(faults.Step{Kind: faults.StepBegin, Client: at.Client, Node: at.Node, Fault: spec})
}

// Schedule runs a tape and returns what happened, step by step, for replaying it on real servers. It returns ErrDiverged if the tape does not
// reproduce its trace.
func (s *Simulator) Schedule(t Tape) (faults.Schedule, error) {
	out, err := s.Replay(t)
	if err != nil {
		return nil, err
	}
	return out.Schedule.Playable(), nil
}

// GoTest returns a Go test for pasting into a _test.go file, which runs the tape and fails while the violation occurs.
func (t Tape) GoTest() string {
	var b strings.Builder
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return '_'
		}
		return r
	}, t.Program.Lock+"_"+string(t.Property))
	t.Steps = nil
	fmt.Fprintf(&b, "// needs: strings, testing, github.com/lockbench/lockbench/sim, github.com/lockbench/lockbench/impls/catalogue\nfunc Test_%s(t *testing.T) {\n", name)
	fmt.Fprintf(&b, "\tconst text = `%s`\n", strings.ReplaceAll(t.String(), "`", "` + \"`\" + `"))
	b.WriteString("\ttape, err := sim.ReadTape(strings.NewReader(text))\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	b.WriteString("\ts := sim.New(catalogue.Known{})\n\tdefer s.Close()\n")
	b.WriteString("\tbroken, story, err := s.Breaks(t.Context(), tape)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n")
	b.WriteString("\tif broken {\n\t\tt.Errorf(\"%s/%s:\\n%s\", tape.Property, tape.Cause, strings.Join(story, \"\\n\"))\n\t}\n}\n")
	return b.String()
}

// trace is everything that happened, in order: always as a hash, and as lines on request. Two runs are the same if their hashes are equal.
type trace struct {
	hash  uint64
	keep  bool
	lines []string
}

// FNV-1a.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

func newTrace(keep bool) trace { return trace{hash: hashStart, keep: keep} }

// mix adds a number to a hash.
func mix(h, v uint64) uint64 {
	for range 8 {
		h = (h ^ (v & 0xff)) * hashPrime
		v >>= 8
	}
	return h
}

// mixText adds a text and its end to a hash.
func mixText[T string | []byte](h uint64, s T) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime
}

// event adds an event that the scheduler released. It calls what only if lines are kept.
func (t *trace) event(now time.Duration, kind optionKind, number uint64, content []byte, what func() string) {
	t.hash = mix(mix(mix(t.hash, uint64(now)), uint64(kind)), number)
	t.hash = mixText(t.hash, content)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s", now.Seconds(), what()))
	}
}

// op adds an operation that a client recorded.
func (t *trace) op(op history.Operation) {
	t.hash = mix(mix(mix(t.hash, uint64(op.Call)), uint64(op.Return)), uint64(op.Op)<<8|uint64(op.Outcome))
	t.hash = mixText(mixText(t.hash, op.Token), op.Err)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s %s %s %s", time.Duration(op.Return).Seconds(), op.Client, op.Op, op.Key,
			strings.TrimSpace(op.Outcome.String()+" "+op.Err)))
	}
}

// storeNode is the node number of the guarded store, which is not one of the lock's nodes.
const storeNode = -1

// commandOf returns the record of a request.
func commandOf(q *request) history.Command {
	w, args := q.conn.world, q.args[1:]
	node := q.conn.node
	if node == w.storeIndex() {
		node = storeNode
	}
	c := history.Command{Client: q.conn.client.name, Node: node, Sent: q.sent, Name: q.name, Cut: len(args) > history.MaxArgs}
	c.Args = slices.Clone(args[:min(len(args), history.MaxArgs)])
	switch {
	case strings.HasPrefix(q.name, "EVAL") && len(args) > 0:
		c.Script, c.Args[0] = w.script(q.name, args[0])
	case q.name == "SCRIPT" && len(args) > 1 && strings.EqualFold(args[0], "load"):
		c.Args[1] = w.source(args[1])
	}
	for i, a := range c.Args {
		c.Cut = c.Cut || len(a) > history.MaxArg
		c.Args[i] = a[:min(len(a), history.MaxArg)]
	}
	return c
}

// replyText returns a reply as one line, for the record.
func replyText(b []byte) string {
	r, ok := resp.ParseReply(b)
	if !ok {
		return ""
	}
	return r.Line(history.MaxReply)
}

// storyLine is one line of a story before lines are joined.
type storyLine struct {
	at    int64
	text  string
	same  string // consecutive lines with the same text here are joined
	times int
}

// story returns an outcome as numbered lines, up to an instant: every command with its reply, every fault, every client that enters or leaves.
// Repeated refusals are one line.
func (o Outcome) story(until int64) []string {
	var lines []storyLine
	for _, c := range o.Commands {
		lines = append(lines, commandLine(c))
	}
	for _, w := range o.Windows {
		lines = append(lines, windowLines(w)...)
	}
	for _, op := range o.Ops {
		if op.Op == history.Use {
			lines = append(lines, storyLine{at: op.Call, text: op.Client + " is inside its critical section"})
		}
	}
	lines = slices.DeleteFunc(lines, func(l storyLine) bool { return l.at > until })
	slices.SortStableFunc(lines, func(a, b storyLine) int { return int(a.at - b.at) })
	return numbered(joined(lines))
}

func commandLine(c history.Command) storyLine {
	reply := c.Reply
	if c.Replied == 0 {
		reply = "no reply is seen"
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = short(a)
	}
	text := fmt.Sprintf("%s: %s %s = %s", c.Client, c.Name, strings.Join(args, " "), reply)
	return storyLine{at: c.Sent, text: text, same: c.Client + c.Name + reply}
}

// short truncates long words such as tokens.
func short(s string) string {
	if len(s) > 20 {
		return s[:8] + "…"
	}
	return s
}

func windowLines(w history.Window) []storyLine {
	who := w.Client
	if who == "" && w.Node >= 0 {
		who = fmt.Sprintf("n%d", w.Node+1)
	}
	begin := storyLine{at: w.Start, text: strings.TrimSpace(who + " " + w.Fault)}
	if w.End <= w.Start {
		return []storyLine{begin}
	}
	return []storyLine{begin, {at: w.End, text: strings.TrimSpace(who+" "+w.Fault) + " is over"}}
}

// joined merges equal neighbours into one line.
func joined(lines []storyLine) []storyLine {
	var out []storyLine
	for _, l := range lines {
		l.times = 1
		if last := len(out) - 1; last >= 0 && l.same != "" && out[last].same == l.same {
			out[last].times++
			continue
		}
		out = append(out, l)
	}
	return out
}

func numbered(lines []storyLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		again := ""
		if l.times > 1 {
			again = fmt.Sprintf(" (%d times)", l.times)
		}
		out[i] = fmt.Sprintf("%2d. %8.3f s  %s%s", i+1, time.Duration(l.at).Seconds(), l.text, again)
	}
	return out
}

// hashArgs returns a hash of a request.
func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}
