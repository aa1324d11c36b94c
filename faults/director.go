package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Body is what a client is made of, and what can be done to it.
type Body interface {
	// Stop stops everything of the client, calls wait, and lets it go on. It returns whether the stop was seen to take.
	Stop(f Spec, moment string, wait func()) (confirmed bool)
	// Kill ends the client. Whatever it touches afterwards answers impls.ErrCrashed.
	Kill(f Spec, moment string) (confirmed bool)
}

// Body makes a Body of an in-process client.
func (g *Gate) Body() Body { return gateBody{g} }

type gateBody struct{ gate *Gate }

func (b gateBody) Stop(_ Spec, _ string, wait func()) bool {
	b.gate.Pause()
	wait()
	b.gate.Resume()
	return true
}

func (b gateBody) Kill(Spec, string) bool { return b.gate.Crash() == nil }

// Director does the client faults of a plan: it hears what every client does (its moments, its commands) and, at the moment
// that a fault names, does it to the client in the client's own goroutine, so that the placement does not depend on the
// machine's speed. One Director serves all clients of a run that live in one process.
type Director struct {
	lease    time.Duration
	timeline func() int64
	windows  func(history.Window)
	// NilGrants is the lock's trait of that name: which replies mean that an acquire took effect.
	NilGrants bool
	// Inject does a fault of the network or of a server that is placed at a client's moment. It returns when the fault is in
	// force and sees to its end itself. nil when the run has none.
	Inject func(ctx context.Context, s Spec, where string)
	// Claim asks whether a fault of whoever comes first may still strike. nil: this Director knows, as it serves all clients.
	Claim func(ctx context.Context, s Spec) bool

	tracking bool              // some fault's end depends on another client
	clients  map[int]*directed // by client index; complete before the first client moves

	mu      sync.Mutex    // protects what follows
	last    map[int]int64 // when each client last entered its section
	entered chan struct{} // closed and replaced at every entry
	claimed map[Spec]int  // of the faults of whoever comes first, how often each has struck
}

// directed is what the Director knows of one client.
type directed struct {
	body   Body
	mu     sync.Mutex // protects what follows: the client's goroutine against its lock's
	phase  Phase
	faults []*armed
	timed  []*armed           // those that are placed at a time; not changed later
	cancel context.CancelFunc // of the acquire under way
}

// armed is a fault of one client that has not struck as often as it is to.
type armed struct {
	Spec
	on    Pattern
	seen  int
	times int
}

// NewDirector arms the client faults of a resolved plan, in which no client is left to be drawn.
func NewDirector(lease time.Duration, timeline func() int64, windows func(history.Window)) *Director {
	return &Director{lease: lease, timeline: timeline, windows: windows,
		clients: map[int]*directed{}, last: map[int]int64{}, entered: make(chan struct{}), claimed: map[Spec]int{}}
}

// Enlist adds a client with the faults of the plan that strike at its moments. It must be called for every client before the first
// of them moves. A client without a body is only heard: what strikes it, it does to itself.
func (d *Director) Enlist(client int, body Body, plan []Spec) {
	c := &directed{body: body, phase: Idle}
	for _, s := range plan {
		d.tracking = d.tracking || s.Until != ""
		if body == nil || s.Client != client+1 && !s.When.Anyone {
			continue
		}
		own := &armed{Spec: s, on: ParsePattern(s.When.Request + s.When.Reply), times: max(s.Times, 1)}
		switch {
		case s.When.After == (Span{}):
			c.faults = append(c.faults, own)
		case IsClientFault(s.Fault):
			c.timed = append(c.timed, own)
		}
	}
	d.clients[client] = c
}

// IsClientFault tells the faults that a Director does by itself.
func IsClientFault(name string) bool {
	switch name {
	case PauseClient, CrashClient, CancelClient, SlowWork:
		return true
	}
	return false
}

// At hears a moment of a client and does what is placed there. It returns impls.ErrCrashed when the client was killed.
func (d *Director) At(ctx context.Context, client int, m history.Moment) error {
	return d.strikeAll(ctx, client, d.moment(client, m), string(m))
}

func (d *Director) moment(client int, m history.Moment) []*armed {
	if m == history.Entered {
		d.announce(client)
	}
	c := d.clients[client]
	c.mu.Lock()
	c.phase = after(m)
	c.mu.Unlock()
	if len(c.faults) == 0 {
		return nil
	}
	return c.dueAt(func(f *armed) bool { return f.When.Moment == string(m) })
}

// announce lets those know who wait for another client to enter its section.
func (d *Director) announce(client int) {
	if !d.tracking {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[client] = d.timeline()
	close(d.entered)
	d.entered = make(chan struct{})
}

// dueAt counts a match of each fault's trigger, and gives those that strike now. match is called with c.mu held.
func (c *directed) dueAt(match func(*armed) bool) []*armed {
	c.mu.Lock()
	defer c.mu.Unlock()
	var due []*armed
	for _, f := range c.faults {
		if f.times == 0 || !match(f) {
			continue
		}
		f.seen++
		if f.seen >= max(f.When.Nth, 1) {
			f.times--
			due = append(due, f)
		}
	}
	return due
}

// Timed does the faults of a client that are placed at a time, one after the other and each as often as it says, at multiples of its
// time. It is run beside the client, and returns when they are done or ctx ends.
func (d *Director) Timed(ctx context.Context, client int) {
	type due struct {
		fault *armed
		at    time.Duration
	}
	var all []due
	for _, f := range d.clients[client].timed {
		for n := range f.times {
			all = append(all, due{f, time.Duration(n+1) * f.When.After.Of(d.lease)})
		}
	}
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	for _, next := range all {
		if !sleep(ctx.Done(), next.at-time.Duration(d.timeline())) || d.strike(ctx, client, next.fault, "at "+next.at.String()) != nil {
			return
		}
	}
}

// Phase is the operation that a client is in.
func (d *Director) Phase(client int) Phase {
	c := d.clients[client]
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase
}

// request hears a command that is about to leave a client.
func (d *Director) request(ctx context.Context, client int, cmd *history.Command, write bool) error {
	c := d.clients[client]
	if len(c.faults) == 0 {
		return nil
	}
	due := c.dueAt(func(f *armed) bool { return f.When.Request != "" && f.on.Matches(c.phase, cmd, write) })
	return d.strikeAll(ctx, client, due, "before "+cmd.Name)
}

// Reply hears a command whose reply the client is about to see.
func (t tap) Reply(cmd *history.Command, write bool) error {
	d, c := t.director, t.director.clients[t.client]
	if len(c.faults) == 0 {
		return nil
	}
	due := c.dueAt(func(f *armed) bool {
		return f.When.Reply != "" && f.on.MatchesReply(c.phase, cmd, write, d.NilGrants)
	})
	if slices.ContainsFunc(due, func(f *armed) bool { return f.Fault == CrashClient }) {
		t.done(*cmd) // a process that kills itself records nothing afterwards
	}
	return d.strikeAll(t.ctx, t.client, due, "after "+cmd.Name+" was applied, before its reply was seen")
}

func (d *Director) strikeAll(ctx context.Context, client int, due []*armed, where string) error {
	for _, f := range due {
		if err := d.strike(ctx, client, f, where); err != nil {
			return err
		}
	}
	return nil
}

// Tap is the ear of the Director on the connections of one client; done is told of every command.
func (d *Director) Tap(ctx context.Context, client int, done func(history.Command)) Tap {
	return tap{d, ctx, client, done}
}

type tap struct {
	director *Director
	ctx      context.Context // of the run: a connection's reads and writes carry none
	client   int
	done     func(history.Command)
}

func (t tap) Request(cmd *history.Command, write bool) error {
	return t.director.request(t.ctx, t.client, cmd, write)
}

func (t tap) Done(cmd history.Command) { t.done(cmd) }

// First tells whether a fault of whoever comes first may strike now, and counts it.
func (d *Director) First(s Spec) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed[s]++
	return d.claimed[s] <= max(s.Times, 1)
}

// becomes gives a fault as this client's. One of whoever comes first is done to the client that did, while it may still strike.
func (d *Director) becomes(ctx context.Context, client int, s Spec) (own Spec, strikes bool) {
	switch {
	case !s.When.Anyone:
		return s, true
	case d.Claim != nil && !d.Claim(ctx, s), d.Claim == nil && !d.First(s):
		return s, false
	}
	if s.OfOneClient() {
		s.Client = client + 1
	}
	return s, true
}

// strike does one fault to a client, and measures it. Faults of single requests and replies are the proxy's.
func (d *Director) strike(ctx context.Context, client int, f *armed, where string) error {
	if IsFrameFault(f.Fault) {
		return nil
	}
	own, strikes := d.becomes(ctx, client, f.Spec)
	if !strikes {
		return nil
	}
	if !IsClientFault(f.Fault) {
		if d.Inject != nil {
			d.Inject(ctx, own, where)
		}
		return nil
	}
	w := history.Window{Fault: f.Fault, Client: fmt.Sprintf("c%d", client+1), Node: -1, Start: d.timeline(), Moment: where}
	var err error
	switch f.Fault {
	case PauseClient:
		w.Confirmed = d.clients[client].body.Stop(f.Spec, where, func() { d.Wait(ctx, client, f.Spec) })
	case SlowWork:
		err = impls.SystemClock{}.Sleep(ctx, f.For.Of(d.lease))
		w.Confirmed = err == nil
	case CancelClient:
		w.Confirmed = d.cancelCall(client)
	case CrashClient:
		w.Confirmed = d.clients[client].body.Kill(f.Spec, where)
		err = impls.ErrCrashed
	}
	w.End = d.timeline()
	if f.Fault == CrashClient {
		w.End = 0
	}
	d.windows(w)
	return err
}

// Wait is the length of a stall: For, and then, where Until says so, until another client enters its section. One that entered
// before may be about to leave it.
func (d *Director) Wait(ctx context.Context, client int, s Spec) {
	clock := impls.SystemClock{}
	if clock.Sleep(ctx, s.For.Of(d.lease)) != nil || s.Until != OtherEntered {
		return
	}
	since := d.timeline()
	limit, cancel := context.WithTimeout(ctx, untilLeases*d.lease)
	defer cancel()
	for {
		entered, next := d.watch(client, since)
		if entered {
			_ = clock.Sleep(ctx, Settle)
			return
		}
		select {
		case <-next:
		case <-limit.Done():
			return
		}
	}
}

// watch tells whether another client has entered its section since, and gives what is closed at the next entry.
func (d *Director) watch(client int, since int64) (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, at := range d.last {
		if other != client && at >= since {
			return true, nil
		}
	}
	return false, d.entered
}

// OtherEntered is the Until of a fault that lasts until another client is inside its critical section.
const OtherEntered = "other-entered"

// Settle is how long after the entry the fault lasts, so that what comes next is clearly inside the other's section.
const Settle = time.Millisecond

// untilLeases bounds the wait for Until.
const untilLeases = 10

// Scope gives the context under which a client's next acquire runs, so that a fault can cancel it.
func (d *Director) Scope(ctx context.Context, client int) (context.Context, context.CancelFunc) {
	scoped, cancel := context.WithCancel(ctx)
	c := d.clients[client]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel = cancel
	return scoped, cancel
}

func (d *Director) cancelCall(client int) bool {
	c := d.clients[client]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil {
		return false
	}
	c.cancel()
	return true
}
