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
)

// Director does the faults of a plan to a World, ends them, and measures each as a history.Window. It is the same in every world.
//
// Who drives it tells it what happens: Start when the run begins, Event at each moment of a client and at each message that the
// plan watches, Entered and Left of every client. Close ends what is in force.
type Director struct {
	cfg  DirectorConfig
	plan *Plan

	mu     sync.Mutex // protects what follows
	faults []*Fault   // that have struck, in order
	gone   []bool     // by client, from 0: it has ended, or was killed
}

// DirectorConfig is what a Director needs.
type DirectorConfig struct {
	World   World
	Lease   time.Duration
	Clients int
	// Record, when set, takes each window once, when it is complete: when the fault has ended, or is known to stay.
	Record func(history.Window)
	// Began and Ended, when set, learn of the beginning and the end of each fault as it happens.
	Began, Ended func(*Fault)
}

// Fault is a fault that has struck.
type Fault struct {
	Spec
	ID int // for who learns of its beginning and its end

	kind    Kind
	message Message // that it is done to; nil for others

	// The Director's mu protects what follows.
	window   history.Window
	undo     Undo
	err      error // why it did not take, or did not end
	over     bool  // its end has begun
	waiting  bool  // the next entry of another client ends it
	recorded bool
}

// Window is what was measured so far.
func (f *Fault) Window() history.Window { return f.window }

// Settle is how long after another's entry a fault lasts that waits for it, so that what comes next is clearly inside the other's section.
const Settle = time.Millisecond

// untilLeases is how many leases an event is waited for before a fault ends all the same.
const untilLeases = 10

// endLimit bounds the end of one fault: a server must come up again.
const endLimit = 20 * time.Second

// NewDirector makes the Director of a run.
func NewDirector(plan *Plan, cfg DirectorConfig) *Director {
	return &Director{cfg: cfg, plan: plan, gone: make([]bool, cfg.Clients)}
}

// Plan is what the Director follows.
func (d *Director) Plan() *Plan { return d.plan }

// Start puts in force what holds from the start, and arranges what is placed at a time. It must return before clients are connected.
func (d *Director) Start(ctx context.Context) {
	d.Event(ctx, Event{Kind: Start}, nil)
	for _, at := range d.plan.Times() {
		d.cfg.World.After(at-time.Duration(d.cfg.World.Now()), func() { d.Event(ctx, Event{Kind: Time, At: at}, nil) })
	}
}

// Event does what is placed at an event, and returns when it is in force. m is the message of the event, nil when it is none on its way.
func (d *Director) Event(ctx context.Context, e Event, m Message) {
	for _, due := range d.plan.Next(e) {
		d.Strike(ctx, due.Spec, due.Where, m)
	}
}

// Strike does a fault now and arranges its end.
func (d *Director) Strike(ctx context.Context, s Spec, where string, m Message) {
	f := d.Begin(ctx, s, where, m)
	switch {
	case f == nil:
	case f.err != nil && f.undo == nil, f.kind.Instant && !s.lasts():
		d.End(f)
	case f.undo != nil && s.lasts():
		d.arrangeEnd(f)
	default:
		d.record(f) // it stays
	}
}

// Begin does a fault now; End ends it. It is nil when nothing is done: the client is gone, or what the fault does is in force already.
func (d *Director) Begin(ctx context.Context, s Spec, where string, m Message) *Fault {
	f := &Fault{Spec: s}
	if f.kind, _ = FindKind(s.Fault); f.kind.In == InMessage {
		f.message = m
	}
	f.window = history.Window{Fault: s.Fault, Client: f.client(), Node: f.node(), Start: d.cfg.World.Now(), Moment: where}
	if !d.add(f) {
		return nil
	}
	if d.cfg.Began != nil {
		d.cfg.Began(f)
	}
	if f.kind.Name == CrashClient {
		d.Left(s.Client)
	}
	e, err := f.kind.do(ctx, deedAt{d.cfg.World, d, f})
	d.mu.Lock()
	defer d.mu.Unlock()
	f.undo, f.err = e.undo, err
	f.window.Confirmed, f.window.Note = err == nil, e.note
	if err != nil {
		f.window.Note = err.Error()
	}
	return f
}

// add registers a fault; false when it is not to be done.
func (d *Director) add(f *Fault) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.kind.In == InClient && f.Client > 0 && f.Client <= len(d.gone) && d.gone[f.Client-1] {
		return false
	}
	once := f.kind.Instant && !f.lasts() // it may be done again while it is being done
	if f.kind.In != InMessage && !once && slices.ContainsFunc(d.faults, f.repeats) {
		return false
	}
	d.faults = append(d.faults, f)
	return true
}

// repeats reports whether another fault has the same effect on the same target, and has not ended.
func (f *Fault) repeats(other *Fault) bool {
	return other.Fault == f.Fault && other.window.Client == f.window.Client && other.window.Node == f.window.Node && !other.over
}

// client is the name of the client that the fault is done to, "" for none.
func (f *Fault) client() string {
	switch {
	case f.message != nil:
		return ClientName(f.message.Client())
	case f.kind.On == OneClient && f.Client > 0:
		return ClientName(f.Client)
	}
	return ""
}

// node is the node that the fault is done to, from 0; -1 for none, and for all.
func (f *Fault) node() int {
	switch {
	case f.message != nil:
		return f.message.Node()
	case f.kind.In == InMessage:
		return f.Node - 1
	case f.kind.Name == Failover:
		return 0 // the primary
	case f.kind.On == OneNode:
		return max(f.Node, 1) - 1
	case f.kind.On == AllNodes:
		return f.Node - 1
	}
	return -1
}

// ClientName is the name of the client with a number from 1.
func ClientName(number int) string { return fmt.Sprintf("c%d", number) }

// arrangeEnd arranges the end of a fault that has a length: after For, and after that when another client enters its section. One that
// entered before may be about to leave it.
func (d *Director) arrangeEnd(f *Fault) {
	length, end := f.For.Of(d.cfg.Lease), func() { d.End(f) }
	if f.Until != OtherEntered {
		d.cfg.World.After(length, end)
		return
	}
	d.cfg.World.After(length, func() { d.awaitOther(f) })
	d.cfg.World.After(length+untilLeases*d.cfg.Lease, end)
}

func (d *Director) awaitOther(f *Fault) {
	d.mu.Lock()
	f.waiting = true
	alone := d.alone(f)
	d.mu.Unlock()
	if alone {
		d.cfg.World.After(Settle, func() { d.End(f) })
	}
}

// Entered tells that a client has entered its critical section.
func (d *Director) Entered(client int) {
	d.endWaiting(func(f *Fault) bool { return f.Client != client })
}

// Left tells that a client has ended. Nobody waits for it any more.
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

// endWaiting arranges the end of the faults that wait for an entry and of which is holds. It is called with mu held.
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
		d.cfg.World.After(Settle, func() { d.End(f) })
	}
}

// alone reports whether no other client is left to enter its section. mu is held.
func (d *Director) alone(f *Fault) bool {
	for i, gone := range d.gone {
		if !gone && i+1 != f.Client {
			return false
		}
	}
	return true
}

// Release ends the faults of a message whose connection has ended.
func (d *Director) Release(m Message) {
	for _, f := range d.struck() {
		if f.message == m {
			d.End(f)
		}
	}
}

// End ends a fault, once, and records its window. A nil one has nothing to end.
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
		ctx, cancel := context.WithTimeout(context.Background(), endLimit) // a fault ends, whatever becomes of the run
		defer cancel()
		err = f.undo(ctx)
	}
	d.ended(f, asked, err)
	d.record(f)
	if d.cfg.Ended != nil {
		d.cfg.Ended(f)
	}
}

// ended measures the end of a fault. One that stayed has none, though it is undone with the run.
func (d *Director) ended(f *Fault, asked int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		f.err = err
		f.window.Confirmed, f.window.Note = false, "not healed: "+err.Error()
	}
	if f.recorded {
		return
	}
	f.window.End = max(d.cfg.World.Now(), 1) // 0 would mean never
	if f.undo != nil {
		f.window.Ending = asked
	}
}

// record hands on the window of a fault, once.
func (d *Director) record(f *Fault) {
	d.mu.Lock()
	again, w := f.recorded, f.window
	f.recorded = true
	d.mu.Unlock()
	if !again && d.cfg.Record != nil {
		d.cfg.Record(w)
	}
}

// struck is a copy of the list of faults that have struck.
func (d *Director) struck() []*Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.faults)
}

// Windows are those of the faults that have struck, in order of their beginning. It is not to be called while faults begin or end.
func (d *Director) Windows() []history.Window {
	var all []history.Window
	for _, f := range d.faults {
		all = append(all, f.window)
	}
	return all
}

// Current names the faults in force that will end, each with whom it is done to, in the order in which they began.
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

// Close ends what has a length or must not outlive the run, and records the rest as it is. The world must arrange nothing any more. It
// returns what could not be ended.
func (d *Director) Close() error {
	var errs []error
	for _, f := range d.struck() {
		if f.kind.MustEnd || f.undo != nil && f.lasts() {
			d.End(f)
		}
		d.record(f)
		errs = append(errs, d.unended(f))
	}
	return errors.Join(errs...)
}

// unended is why a fault that was to end did not.
func (d *Director) unended(f *Fault) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.over && f.err != nil && f.undo != nil && !errors.Is(f.err, ErrNothing) {
		return fmt.Errorf("%s: %w", f.Fault, f.err)
	}
	return nil
}
