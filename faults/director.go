package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Director applies the faults of a plan to a World, ends them, and measures each as a
// history.Window. It works alike in every world.
//
// Its caller reports what happens: the Start, the moments that clients Reach, every Event that the
// plan watches, and who Left. Close ends the faults in force.
type Director struct {
	cfg  DirectorConfig
	plan *Plan

	standing []Standing // by client, from 0; complete when Start returns

	mu       sync.Mutex // guards the fields below
	faults   []*Fault   // that were injected, in order
	gone     []bool     // by client, from 0: it has ended, or was killed
	complete []history.Window
}

// DirectorConfig configures a Director.
type DirectorConfig struct {
	World    World
	Topology impls.Topology // of the lock's nodes
	Lease    time.Duration
	Clients  int
	// Began and Ended, when set, are called when a fault begins and when it ends.
	Began, Ended func(*Fault)
}

// Standing is what the faults in force from the start change of a client.
type Standing struct {
	Skew  time.Duration // how far its wall clock is off
	Work  time.Duration // how long it works inside a section; 0 means the workload decides
	Owner string        // the owner id that it shares with all others; "" when it has its own
}

// Fault is a fault that was injected.
type Fault struct {
	Spec
	ID int // matches Began with Ended

	kind    Kind
	message Message // the message that it affects; nil for other faults

	// The Director's mu guards the fields below.
	window   history.Window
	undo     Undo
	err      error // why it could not be confirmed, or did not end
	over     bool  // its end has begun
	waiting  bool  // the next entry of another client ends it
	recorded bool
}

// Window returns the window as measured so far.
func (f *Fault) Window() history.Window { return f.window }

// BySearch is the moment in the windows of faults that a search placed.
const BySearch = "chosen by the search"

// Standing reports whether the fault belongs to a program, which has it from the start, and not to
// the schedule of a run.
func (f *Fault) Standing() bool {
	return f.kind.In == InClient && f.When.Form() == AtStart && f.window.Moment != BySearch
}

// settleTime is how long a fault with Until outlasts the other client's entry, so that what follows
// is clearly inside that client's section.
const settleTime = time.Millisecond

// untilLeases is the longest wait for the event of Spec.Until, in leases; the fault then ends
// without it.
const untilLeases = 10

// endLimit bounds the end of one fault, which may have to restart a server.
const endLimit = 20 * time.Second

// NewDirector makes the Director of a run.
func NewDirector(plan *Plan, cfg DirectorConfig) *Director {
	return &Director{cfg: cfg, plan: plan, gone: make([]bool, cfg.Clients), standing: make([]Standing, cfg.Clients)}
}

// Plan returns the plan that the Director follows.
func (d *Director) Plan() *Plan { return d.plan }

// Start applies the faults that hold from the start, and schedules those placed at a time. It must
// return before clients connect.
func (d *Director) Start(ctx context.Context) {
	d.Event(ctx, Event{Kind: Start}, nil)
	var times []time.Duration // one with Spec.Times n comes at the first n multiples of its time
	for _, f := range d.plan.placed {
		for n := range max(f.Times, 1) {
			if f.form == AtTime {
				times = append(times, time.Duration(n+1)*f.When.After.Of(d.plan.lease))
			}
		}
	}
	slices.Sort(times)
	for _, at := range slices.Compact(times) {
		d.cfg.World.After(at-time.Duration(d.cfg.World.Now()), func() { d.Event(ctx, Event{Kind: Time, At: at}, nil) })
	}
}

// Standing returns what holds for a client, by its number from 1, once Start has returned.
func (d *Director) Standing(client int) Standing { return d.standing[client-1] }

// Event applies the faults placed at an event, and returns once they are in force. m is the message
// of the event; nil if there is none.
func (d *Director) Event(ctx context.Context, e Event, m Message) {
	for _, s := range d.plan.next(e) {
		d.Place(ctx, s, e.moment(), m)
	}
}

// Place applies a fault now and schedules its end.
func (d *Director) Place(ctx context.Context, s Spec, where string, m Message) {
	f := d.Begin(ctx, s, where, m)
	switch {
	case f == nil:
	case f.err != nil && f.undo == nil, f.kind.instant && !s.lasts():
		d.End(f)
	case f.undo == nil || !s.lasts():
		d.record(f) // it stays
	case s.Until != OtherEntered:
		d.cfg.World.After(s.For.Of(d.cfg.Lease), func() { d.End(f) })
	default: // it ends when another client next enters after For; one that entered earlier may leave
		length := s.For.Of(d.cfg.Lease)
		d.cfg.World.After(length, func() {
			d.mu.Lock()
			f.waiting = true
			alone := d.alone(f)
			d.mu.Unlock()
			if alone {
				d.cfg.World.After(settleTime, func() { d.End(f) })
			}
		})
		d.cfg.World.After(length+untilLeases*d.cfg.Lease, func() { d.End(f) })
	}
}

// Begin applies a fault now; End ends it. It returns nil when there is nothing to do: the client is
// gone, or the same effect is in force already.
func (d *Director) Begin(ctx context.Context, s Spec, where string, m Message) *Fault {
	f := &Fault{Spec: s}
	if f.kind, _ = FindKind(s.Fault); f.kind.In == InMessage {
		f.message = m
	}
	f.window = history.Window{Fault: s.Fault, Start: d.cfg.World.Now(), Moment: where, Does: f.kind.Does}
	f.window.Client, f.window.Node = f.target()
	once := f.kind.instant && !f.lasts() // it may be applied again while it is under way
	same := func(other *Fault) bool {    // the same effect on the same target
		return other.Fault == f.Fault && !other.over &&
			other.window.Client == f.window.Client && other.window.Node == f.window.Node
	}
	d.mu.Lock()
	needless := f.kind.In == InClient && f.Client > 0 && f.Client <= len(d.gone) && d.gone[f.Client-1] ||
		f.kind.In != InMessage && !once && slices.ContainsFunc(d.faults, same)
	if !needless {
		d.faults = append(d.faults, f)
	}
	d.mu.Unlock()
	if needless {
		return nil
	}
	if d.cfg.Began != nil {
		d.cfg.Began(f)
	}
	if f.kind.In == InClient && f.kind.Does.Any(history.Kills) {
		d.Left(s.Client)
	}
	undo, err := f.kind.do(ctx, actionAt{d.cfg.World, d, f})
	d.mu.Lock()
	defer d.mu.Unlock()
	f.undo, f.err, f.window.Confirmed = undo, err, err == nil
	if err != nil {
		f.window.Note = err.Error()
	}
	return f
}

// target returns the client that the fault affects, "" for none, and the node, from 0; -1 for none,
// and for all.
func (f *Fault) target() (client string, node int) {
	if f.message != nil {
		return ClientName(f.message.Client()), f.message.Node()
	}
	if f.kind.On == OneClient && f.Client > 0 {
		client = ClientName(f.Client)
	}
	switch {
	case f.kind.On == OneNode, f.kind.Promotes():
		return client, max(f.Node, 1) - 1
	case f.kind.In == InMessage, f.kind.On == allNodes:
		return client, f.Node - 1
	}
	return client, -1
}

// ClientName returns the name of the client with this number, from 1.
func ClientName(number int) string { return fmt.Sprintf("c%d", number) }

// Reach reports that a client has reached a moment: another operation may begin, and faults end
// that wait for its entry into the critical section.
func (d *Director) Reach(client int, m history.Moment) {
	d.plan.Reach(client, m)
	if m == history.Entered {
		d.endWaiting(func(f *Fault) bool { return f.Client != client })
	}
}

// Left reports that a client has ended, so that no fault waits for it to enter.
func (d *Director) Left(client int) {
	d.mu.Lock()
	if client > 0 && client <= len(d.gone) {
		d.gone[client-1] = true
	}
	d.mu.Unlock()
	d.endWaiting(d.alone)
}

// Gone reports whether a client, by its number from 1, has ended or was killed.
func (d *Director) Gone(client int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone[client-1]
}

// endWaiting schedules the end of the waiting faults that satisfy is, which is called with mu held.
func (d *Director) endWaiting(is func(*Fault) bool) {
	d.mu.Lock()
	var over []*Fault
	for _, f := range d.faults {
		if f.waiting && !f.over && is(f) {
			f.waiting = false
			over = append(over, f)
		}
	}
	d.mu.Unlock()
	for _, f := range over {
		d.cfg.World.After(settleTime, func() { d.End(f) })
	}
}

// alone reports whether no other client is left to enter its section. mu must be held.
func (d *Director) alone(f *Fault) bool {
	for i, gone := range d.gone {
		if !gone && i+1 != f.Client {
			return false
		}
	}
	return true
}

// Release ends the faults that hold a message whose connection has ended.
func (d *Director) Release(m Message) {
	for _, f := range d.begun() {
		if f.message == m {
			d.End(f)
		}
	}
}

// MustEnd reports whether a fault that has begun must not outlive the run.
func (f *Fault) MustEnd() bool { return f.kind.mustEnd || f.undo != nil && f.lasts() }

// End ends a fault, once, and records its window. It does nothing for nil.
func (d *Director) End(f *Fault) {
	if f == nil {
		return
	}
	d.mu.Lock()
	again := f.over
	f.over = true
	d.mu.Unlock()
	if again {
		return
	}
	asked := d.cfg.World.Now()
	var err error
	if f.undo != nil {
		// not the run's context: the fault must end even when the run was stopped
		ctx, cancel := context.WithTimeout(context.Background(), endLimit)
		defer cancel()
		err = f.undo(ctx)
	}
	d.mu.Lock()
	if err != nil {
		f.err = err
		f.window.Confirmed, f.window.Note = false, "not healed: "+err.Error()
	}
	if !f.recorded { // one that stays has no end, though it is undone with the run
		f.window.End = max(d.cfg.World.Now(), 1) // 0 would mean never
		if f.undo != nil {
			f.window.Ending = asked
		}
	}
	d.mu.Unlock()
	d.record(f)
	if d.cfg.Ended != nil {
		d.cfg.Ended(f)
	}
}

// record notes that the window of a fault is complete.
func (d *Director) record(f *Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !f.recorded {
		f.recorded = true
		d.complete = append(d.complete, f.window)
	}
}

// Complete returns the windows that are complete, in that order: of the faults that have ended, or
// are known to stay.
func (d *Director) Complete() []history.Window {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.complete)
}

func (d *Director) begun() []*Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.faults)
}

// Windows returns the windows of the faults that were injected, in order of their beginning. It
// must not be called while faults begin or end.
func (d *Director) Windows() []history.Window {
	var all []history.Window
	for _, f := range d.faults {
		all = append(all, f.window)
	}
	return all
}

// Current names the faults in force that will end, each with its target, in the order in which they
// began.
func (d *Director) Current() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, f := range d.faults {
		if name := strings.TrimSpace(f.Fault + " " + f.window.Client); f.undo != nil && f.lasts() && !f.over && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// InForce reports whether a fault has not ended.
func (d *Director) InForce() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.faults, func(f *Fault) bool { return f.window.End == 0 })
}

// Close ends the faults that have a length or must not outlive the run, and records the others as
// they are. The world must start nothing any more. It returns the errors of faults that could not
// be ended.
func (d *Director) Close() error {
	var errs []error
	for _, f := range d.begun() {
		if f.MustEnd() {
			d.End(f)
		}
		d.record(f)
		d.mu.Lock()
		if f.over && f.err != nil && f.undo != nil && !errors.Is(f.err, ErrNothing) {
			errs = append(errs, fmt.Errorf("%s: %w", f.Fault, f.err))
		}
		d.mu.Unlock()
	}
	return errors.Join(errs...)
}
