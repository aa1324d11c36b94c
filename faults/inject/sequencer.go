package inject

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Sequencer lets one message of a real run pass at a time, in an order chosen by Next: it is the
// Leader of a search. A request's turn ends when its node has replied. The order is kept as a
// schedule that a [Replayer] can replay.
type Sequencer struct {
	turns
	next Next

	noting   sync.Mutex // guards schedule
	schedule faults.Schedule
}

// Next chooses what happens next. It returns false to wait for more messages; with last set it has
// waited long enough and should choose.
type Next func(step int, held []faults.Held, last bool) (faults.Turn, bool)

// NewSequencer makes the Leader of one run, whose timeline is nanoseconds on its base.
func NewSequencer(next Next, timeline func() int64) *Sequencer {
	return &Sequencer{turns: newTurns(timeline), next: next}
}

// Timeouts of a Sequencer.
const (
	restPace   = time.Millisecond       // for a client that neither waits nor has ended
	comingPace = 100 * time.Millisecond // for a message that Next waits for
)

var _ Leader = (*Sequencer)(nil)

// Schedule returns the schedule so far.
func (c *Sequencer) Schedule() faults.Schedule {
	c.noting.Lock()
	defer c.noting.Unlock()
	return slices.Clone(c.schedule)
}

// Steps returns the number of turns so far.
func (c *Sequencer) Steps() int { return int(c.steps.Load()) }

// Moment records that a client has reached a moment, and lets it go on.
func (c *Sequencer) Moment(_ context.Context, client string, m history.Moment) {
	c.note(faults.Step{Kind: faults.StepMoment, Client: client, Command: string(m)})
}

// Began records that a fault begins. Faults in force from the start belong to the program, not to
// the schedule.
func (c *Sequencer) Began(f *faults.Fault) {
	if f.Standing() {
		return
	}
	f.ID = c.note(faults.Step{Kind: faults.StepBegin, Client: f.Window().Client, Node: f.Window().Node, Fault: f.Spec})
}

// Ended records that a fault ends.
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

// Run grants the turns until ctx ends. The director applies the faults.
func (c *Sequencer) Run(ctx context.Context, director *faults.Director) {
	defer c.release()
	for {
		t, a := c.choose(ctx)
		if ctx.Err() != nil {
			return
		}
		c.steps.Add(1)
		switch {
		case t.Fault.Fault != "" && a == nil:
			director.Place(ctx, t.Fault, faults.BySearch, nil)
		case t.Fault.Fault != "": // a message that it loses is dropped at once
			if director.Place(ctx, t.Fault, faults.BySearch, a.message); a.message.lost {
				c.pass(ctx, a)
			}
		case a != nil: // first the faults that the program places at it
			stage := faults.Underway
			if a.reply() {
				stage = faults.Answered
			}
			if a.message.met < stage {
				a.message.meet(ctx, director, stage)
			}
			if a.message.lost || a.message.free() { // else a fault holds it
				c.pass(ctx, a)
			}
		default:
			sleep(ctx.Done(), t.Wait)
		}
	}
}

// choose calls Next until it chooses or ctx ends. It returns the turn, and the message of the turn
// or nil.
func (c *Sequencer) choose(ctx context.Context) (t faults.Turn, of *arrival) {
	var began time.Time
	for all := c.settled(ctx); len(all) > 0; all = c.settled(ctx) {
		if began.IsZero() {
			began = time.Now()
		}
		choice := make([]faults.Held, len(all))
		for i, a := range all {
			choice[i] = faults.Held{Client: a.message.client, Node: a.step.Node, Reply: a.reply(), Since: int(a.since)}
		}
		if t, ok := c.next(c.Steps(), choice, time.Since(began) > comingPace); ok {
			if t.Held >= 0 {
				of = all[t.Held]
			}
			return t, of
		}
		sleep(ctx.Done(), restPace)
	}
	return t, nil
}

// settled waits until some message may pass and no more have come for a while, and returns those
// that may, ordered by client, node, direction and age; none if ctx ends first.
func (c *Sequencer) settled(ctx context.Context) []*arrival {
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
		var all []*arrival // that no fault holds
		c.mu.Lock()
		for _, list := range c.waiting {
			for _, a := range list {
				if a.message.free() {
					all = append(all, a)
				}
			}
		}
		c.mu.Unlock()
		if len(all) == 0 || !quiet {
			quiet = true
			continue
		}
		direction := map[bool]int{true: 1} // requests come first
		slices.SortFunc(all, func(a, b *arrival) int {
			return cmp.Or(cmp.Compare(a.message.client, b.message.client), cmp.Compare(a.step.Node, b.step.Node),
				cmp.Compare(direction[a.reply()], direction[b.reply()]), cmp.Compare(a.at, b.at))
		})
		return all
	}
}

// pass lets a message pass; after a request it waits for the node's reply.
func (c *Sequencer) pass(ctx context.Context, a *arrival) {
	m, s := a.message, a.step
	if s.Lost = m.lost; !a.reply() {
		s.Sent = a.at
	}
	id := c.note(s)
	c.forget(a)
	a.turn <- turn{id, m.lost}
	if !a.reply() && !m.lost && c.await(ctx, faults.Step{Kind: faults.StepReply, Of: id}.Key(), applyPatience) != nil {
		c.noting.Lock()
		defer c.noting.Unlock()
		c.schedule[id-1].Replied = c.timeline()
	}
}
