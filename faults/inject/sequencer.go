package inject

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Sequencer lets one message of a real run pass at a time, as somebody chooses: the Leader of a search. A request's turn is over when
// its node has answered. What came about is kept as a schedule, along which a [Replayer] leads another run.
type Sequencer struct {
	turns
	next     Next
	timeline func() int64

	noting   sync.Mutex // protects what follows
	step     int
	schedule faults.Schedule
}

// Held is a message that waits for its turn.
type Held struct {
	*Message
	Reply bool
	Since int // the step at which it came

	key     string
	arrival *arrival
	sent    int64
}

// Turn is what happens next.
type Turn struct {
	Held  *Held         // passes, or what the fault is done to; nil: nothing
	Fault faults.Spec   // strikes; no name: nothing does
	Wait  time.Duration // time passes
}

// Next chooses what happens next. It is false when it wants to wait for more to come; with last it is asked once more.
type Next func(step int, held []*Held, last bool) (Turn, bool)

// NewSequencer makes the Leader of one run, whose timeline is nanoseconds on its base.
func NewSequencer(next Next, timeline func() int64) *Sequencer {
	return &Sequencer{turns: newTurns(), next: next, timeline: timeline}
}

// The patience of a Sequencer.
const (
	restPace   = time.Millisecond       // for who is neither seen to wait nor to have ended
	comingPace = 100 * time.Millisecond // with a message that is wanted and is not there
)

var _ Leader = (*Sequencer)(nil)

// Schedule is what came about so far.
func (c *Sequencer) Schedule() faults.Schedule {
	c.noting.Lock()
	defer c.noting.Unlock()
	return slices.Clone(c.schedule)
}

// Steps is how many turns there were.
func (c *Sequencer) Steps() int {
	c.noting.Lock()
	defer c.noting.Unlock()
	return c.step
}

// Request waits for the turn of a request.
func (c *Sequencer) Request(m *Message) bool {
	if upstream.Handshake(m.Command.Name) {
		return true
	}
	t := c.hold(m, false, faults.Step{Kind: faults.StepRequest, Client: m.Command.Client, Node: m.Node(), Command: m.Label})
	m.step = t.step
	return !t.lost
}

// Reply waits for the turn of the reply to a request that had one.
func (c *Sequencer) Reply(m *Message) bool {
	if m.step == 0 {
		return true
	}
	return !c.hold(m, true, faults.Step{Kind: faults.StepReply, Of: m.step}).lost
}

func (c *Sequencer) hold(m *Message, reply bool, s faults.Step) turn {
	a := &arrival{turn: make(chan turn, 1)}
	a.held = &Held{Message: m, Reply: reply, Since: c.Steps(), key: s.Key(), arrival: a, sent: c.timeline()}
	return c.wait(a.held.key, a, m.gone)
}

// Moment notes that a client has come to a moment, and lets it go on.
func (c *Sequencer) Moment(_ context.Context, client string, m history.Moment) {
	c.note(faults.Step{Kind: faults.StepMoment, Client: client, Command: string(m)})
}

// Began notes that a fault begins. What is so from the start is the program's.
func (c *Sequencer) Began(f *faults.Fault) {
	kind, _ := faults.FindKind(f.Fault)
	if kind.In == faults.InClient && f.When.Form() == faults.AtStart && f.Window().Moment != Chosen {
		return
	}
	f.ID = c.note(faults.Step{Kind: faults.StepBegin, Client: f.Window().Client, Node: f.Window().Node, Fault: f.Spec})
}

// Chosen is the moment that the windows of a search's faults name.
const Chosen = "chosen by the search"

// Ended notes that a fault ends.
func (c *Sequencer) Ended(f *faults.Fault) {
	if f.ID > 0 {
		c.note(faults.Step{Kind: faults.StepEnd, Of: f.ID, Fault: faults.Spec{Fault: f.Fault}})
	}
}

func (c *Sequencer) note(s faults.Step) int {
	c.noting.Lock()
	defer c.noting.Unlock()
	s.ID, s.At = len(c.schedule)+1, c.timeline()
	c.schedule = append(c.schedule, s)
	return s.ID
}

// Run gives the turns until ctx ends. The director does the faults.
func (c *Sequencer) Run(ctx context.Context, director *faults.Director) {
	defer c.release()
	for {
		t, ok := c.choose(ctx)
		if !ok {
			return
		}
		c.noting.Lock()
		c.step++
		c.noting.Unlock()
		switch {
		case t.Fault.Fault != "":
			c.strike(ctx, director, t)
		case t.Held != nil:
			c.pass(ctx, t.Held)
		default:
			sleep(ctx.Done(), t.Wait)
		}
	}
}

// choose asks what is next, until that is there; false when ctx ends first.
func (c *Sequencer) choose(ctx context.Context) (Turn, bool) {
	var began time.Time
	for {
		held := c.settled(ctx)
		if len(held) == 0 {
			return Turn{}, false
		}
		if began.IsZero() {
			began = time.Now()
		}
		if t, ok := c.next(c.Steps(), held, time.Since(began) > comingPace); ok {
			return t, true
		}
		sleep(ctx.Done(), restPace)
	}
}

// settled returns what may pass, once something may and nothing more has come for a while; nothing when ctx ends first.
func (c *Sequencer) settled(ctx context.Context) []*Held {
	t := time.NewTicker(restPace)
	defer t.Stop()
	for quiet := false; ; {
		select {
		case <-c.arrived:
			quiet = false
			t.Reset(restPace)
			continue
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
		if held := c.free(); len(held) > 0 && quiet {
			return held
		}
		quiet = true
	}
}

// free are the messages that no fault holds, by client, node, way and age.
func (c *Sequencer) free() (all []*Held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range c.waiting {
		for _, a := range list {
			if a.held.free() {
				all = append(all, a.held)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Held) int {
		return cmp.Or(cmp.Compare(a.client, b.client), cmp.Compare(a.Node(), b.Node()), boolCompare(a.Reply, b.Reply), cmp.Compare(a.sent, b.sent))
	})
	return all
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// strike does a fault. A message that it loses is gone at once.
func (c *Sequencer) strike(ctx context.Context, director *faults.Director, t Turn) {
	var m faults.Message
	if t.Held != nil {
		m = t.Held.Message
	}
	director.Strike(ctx, t.Fault, Chosen, m)
	if t.Held != nil && t.Held.lost {
		c.pass(ctx, t.Held)
	}
}

// pass gives a message its turn.
func (c *Sequencer) pass(ctx context.Context, h *Held) {
	s := faults.Step{Kind: faults.StepRequest, Client: h.Command.Client, Node: h.Node(), Command: h.Label, Sent: h.sent, Lost: h.lost}
	if h.Reply {
		s.Kind, s.Of, s.Command, s.Sent = faults.StepReply, h.step, h.Command.Name, 0
	}
	id := c.note(s)
	c.forget(h.key, h.arrival)
	h.arrival.turn <- turn{id, h.lost}
	if !h.Reply && !h.lost {
		c.await(ctx, faults.Step{Kind: faults.StepReply, Of: id}.Key(), applyPatience)
	}
}
