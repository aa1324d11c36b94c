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

const tapeSchema = "lockbench/tape/v2"

// tapeSchemaV1 names choices by their positions, which change when a client sends one more command.
const tapeSchemaV1 = "lockbench/tape/v1"

// errOldTape is returned for a tape of the first version, which is no longer supported.
var errOldTape = errors.New("its choices are positions, which are not followed any more; explore the lock again")

// Tape is a schedule to be replayed: the program, the bounds, and every choice other than the default. It always gives the same trace, byte for byte.
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

func (t Tape) key() string { return broken{Property: t.Property, Cause: t.Cause}.key() }

// ReadTape reads a tape from JSON. A word that is not known, and a value that cannot be, is an error.
func ReadTape(r io.Reader) (Tape, error) {
	var t Tape
	text, err := io.ReadAll(r)
	if err == nil {
		err = jsonat.Unmarshal(text, &t)
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

// Choice is a choice other than the default. It names events, not positions: it stays valid when something else happens besides, as one more handshake.
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
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

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

// Breaks runs a tape and reports whether its violation still occurs, with the story, even if the run has diverged because the lock was changed.
func (s *Simulator) Breaks(ctx context.Context, t Tape) (bool, []string, error) {
	all, err := s.judged(ctx, t)
	b, ok := withKey(all, t.key())
	return ok, b.Story, err
}

// BreaksElse runs a tape and returns the first violation besides the tape's for which the lock is to blame, with its story; zero if there is none.
func (s *Simulator) BreaksElse(ctx context.Context, t Tape) (verdicts.Break, []string, error) {
	all, err := s.judged(ctx, t)
	i := slices.IndexFunc(all, func(b broken) bool { return b.key() != t.key() && !b.Excepted })
	if i < 0 {
		return verdicts.Break{}, nil, err
	}
	return verdicts.Break{Property: all[i].Property, Cause: all[i].Cause}, all[i].Story, err
}

// judged runs a tape and returns its violations, with their stories.
func (s *Simulator) judged(ctx context.Context, t Tape) ([]broken, error) {
	out, err := s.host.run(t.Program, t.follow(), t.Bounds, false)
	if err != nil {
		return nil, err
	}
	p, err := t.Program.resolve(s.host.known)
	if err != nil {
		return nil, err
	}
	var x explainer
	defer x.close()
	return x.judge(ctx, out, p, true)
}

// note adds a step to the schedule of a run whose trace is kept, and returns its number.
func (w *world) note(s faults.Step) int {
	if !w.trace.keep {
		return 0
	}
	s.ID, s.At = len(w.out.Schedule)+1, w.timeline()
	w.out.Schedule = append(w.out.Schedule, s)
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

// Schedule runs a tape and returns what happened, step by step, to be replayed on real servers; ErrDiverged if the tape does not reproduce its trace.
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

// mix adds numbers to a hash.
func mix(h uint64, numbers ...uint64) uint64 {
	for _, n := range numbers {
		for range 8 {
			h = (h ^ (n & 0xff)) * hashPrime
			n >>= 8
		}
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
	t.hash = mix(t.hash, uint64(now), uint64(kind), number)
	t.hash = mixText(t.hash, content)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s", now.Seconds(), what()))
	}
}

func (t *trace) op(op history.Operation) {
	t.hash = mix(t.hash, uint64(op.Call), uint64(op.Return), uint64(op.Op)<<8|uint64(op.Outcome))
	t.hash = mixText(mixText(t.hash, op.Token), op.Err)
	if t.keep {
		t.lines = append(t.lines, fmt.Sprintf("%12.6f  %s %s %s %s", time.Duration(op.Return).Seconds(), op.Client, op.Op, op.Key,
			strings.TrimSpace(op.Outcome.String()+" "+op.Err)))
	}
}

// storeNode is the node number of the guarded store, which is not one of the lock's nodes.
const storeNode = -1

func commandOf(q *request) history.Command {
	w, args := q.conn.world, q.args[1:]
	c := history.Command{Client: q.conn.client.name, Node: q.conn.target(), Sent: q.sent, Name: q.name, Cut: len(args) > history.MaxArgs}
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

func hashArgs(args []string) uint64 {
	h := uint64(hashStart)
	for _, a := range args {
		h = mixText(h, a)
	}
	return h
}

// Shrink minimizes a failing tape: it searches smaller programs, with fewer clients, rounds, faults and polls, for the same violation and cause, then
// leaves out choices one by one. If ctx ends, it returns the smallest so far; a tape whose lock kills its process is returned unchanged.
func (s *Simulator) Shrink(ctx context.Context, t Tape) (Tape, error) {
	h := &shrinker{host: s.host, ctx: ctx, best: t, tries: tries}
	defer h.causes.close()
	return h.shrink()
}

func (h *shrinker) shrink() (Tape, error) {
	for _, smaller := range []func() error{h.program, h.choices, h.waits, h.choices} {
		if err := smaller(); err != nil {
			return h.best, err
		}
	}
	return h.best, nil
}

type shrinker struct {
	host  runner
	ctx   context.Context
	best  Tape
	tries int // how many schedules of a smaller program are searched for the violation

	causes explainer
}

// tries is how many schedules of a smaller program the simulator searches.
const tries = 400

// program searches smaller programs, the smallest first, for the same violation.
func (h *shrinker) program() error {
	for _, p := range h.smaller() {
		if h.ctx.Err() != nil {
			return nil
		}
		found, err := h.search(p)
		if err != nil || found {
			return err
		}
	}
	return nil
}

func (h *shrinker) smaller() []Program {
	var out []Program
	best := h.best.Program
	for _, load := range h.loads() {
		for clients := min(2, best.Clients); clients <= best.Clients; clients++ {
			for ops := 1; ops <= max(best.Config.Ops, 1); ops++ {
				for _, poll := range slices.Compact([]time.Duration{max(best.Poll, best.Config.Lease*3/5), best.Poll}) {
					p := best
					p.Load, p.Workload = load, nil
					p.Clients, p.Config.Ops, p.Poll = clients, ops, poll
					out = append(out, p)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Program) int { return a.Clients*a.Config.Ops - b.Clients*b.Config.Ops })
	return out
}

// loads lists the workloads in which the violation may appear: the bare one is smaller, but has no store to damage.
func (h *shrinker) loads() []string {
	own := h.best.Program.Load
	if own != "counter" || h.best.Property == verdicts.StoreIntegrity {
		return []string{own}
	}
	return []string{"hot", own}
}

// search looks for the violation in a smaller program, with no more faults than the tape had.
func (h *shrinker) search(p Program) (bool, error) {
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f faults.Spec) bool { return f.Client > p.Clients })
	b := h.best.Bounds
	b.Faults, b.MaxFaults = h.placed()
	j := searchJob{Program: p, Bounds: b, Strategy: Mixed, Seed: h.best.Program.Seed, Schedules: h.tries, Parts: 1}
	s, err := newSearch(j, h.host)
	if err != nil {
		return false, err
	}
	found := false
	s.found = func(f finding) { h.best, found = f.Tape, true }
	s.only = func(b broken) bool { return b.key() == h.best.key() }
	err = s.run(h.ctx)
	return found, err
}

// placed returns the faults that the tape's choices placed, by name, and their number.
func (h *shrinker) placed() (names []string, n int) {
	for _, c := range h.best.Choices {
		if f, ok := c.fault(); ok {
			names = append(names, f)
		}
	}
	n = len(names)
	slices.Sort(names)
	return slices.Compact(names), n
}

// choices leaves out unnecessary choices: first halves, then quarters, down to single ones.
func (h *shrinker) choices() error {
	for size := (len(h.best.Choices) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(h.best.Choices) && h.ctx.Err() == nil; {
			without := slices.Delete(slices.Clone(h.best.Choices), from, min(from+size, len(h.best.Choices)))
			kept, err := h.try(h.best.Program, without)
			if err != nil {
				return err
			}
			if !kept {
				from += size
			}
		}
	}
	return nil
}

// waits tries rounds without a pause between them.
func (h *shrinker) waits() error {
	p := h.best.Program
	if p.Config.Pause == 0 {
		return nil
	}
	p.Config.Pause = 0
	_, err := h.try(p, h.best.Choices)
	return err
}

// try runs a program along choices; if the violation is still there, the result is the best so far, without the choices that were not possible.
func (h *shrinker) try(p Program, choices []Choice) (bool, error) {
	f := &follow{choices: slices.Clone(choices)}
	out, err := h.host.run(p, f, h.best.Bounds, false)
	if err != nil {
		return false, err
	}
	p, err = p.resolve(h.host.catalogue())
	if err != nil {
		return false, err
	}
	all, err := h.causes.judge(context.WithoutCancel(h.ctx), out, p, true)
	b, ok := withKey(all, h.best.key())
	if err != nil || !ok {
		return false, err
	}
	h.best = newTape(schedule{p, h.best.Bounds, f}, out, b)
	return true, nil
}
