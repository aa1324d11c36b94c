package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Conductor leads the messages and the faults of a real run through a Score. Every request and every reply that comes to the proxy
// waits until it is its turn, and so does every client at its moments; one goroutine, Run, gives the turns. A request's turn is over when its node has answered, so that
// nodes execute in the order of the score. Time passes between two steps as it did in the score, at least: what a lock's timers and leases
// waited for then, they wait for now.
//
// A run that does something else than the score says leaves it: from then on everything passes as it comes, and [Conductor.Order]
// tells where that was.
type Conductor struct {
	score    Score
	timeline func() int64
	windows  func(history.Window)
	arrived  chan struct{} // cap 1: somebody waits for a turn who did not

	mu      sync.Mutex // protects what follows
	waiting map[string][]*arrival
	open    bool // nobody waits any more
	order   Order
}

// arrival is a message that waits for its turn.
type arrival struct {
	what string    // for people
	turn chan fate // cap 1
}

// fate is what becomes of a message.
type fate struct {
	id   int // of its step; 0 when it has none
	lost bool
}

// NewConductor makes a conductor for one run. timeline and windows are the run's.
func NewConductor(score Score, timeline func() int64, windows func(history.Window)) *Conductor {
	return &Conductor{score: score, timeline: timeline, windows: windows, arrived: make(chan struct{}, 1),
		waiting: map[string][]*arrival{}, order: Order{Steps: len(score)}}
}

// Order tells how far the run was led.
func (c *Conductor) Order() Order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order
}

// request waits for the turn of a request.
func (c *Conductor) request(l *Link, req resp.Request, gone <-chan struct{}) fate {
	if Handshake(req.Name()) {
		return fate{}
	}
	what := Step{Kind: StepRequest, Client: l.Client, Node: l.Node, Command: label(req, l.proxy.cfg.Names)}
	return c.wait(what.key(), what.String(), gone)
}

// reply waits for the turn of the reply to a request that had one.
func (c *Conductor) reply(id int, what history.Command, gone <-chan struct{}) fate {
	if id == 0 {
		return fate{}
	}
	return c.wait(replyKey(id), Step{Kind: StepReply, Client: what.Client, Node: what.Node, Command: what.Name}.String(), gone)
}

// Moment waits for the turn of a client's moment. A client whose context ends does not wait.
func (c *Conductor) Moment(ctx context.Context, client string, m history.Moment) {
	s := Step{Kind: StepMoment, Client: client, Command: string(m)}
	c.wait(s.key(), s.String(), ctx.Done())
}

func (c *Conductor) wait(key, what string, gone <-chan struct{}) fate {
	a := &arrival{what, make(chan fate, 1)}
	c.mu.Lock()
	if c.open {
		c.mu.Unlock()
		return fate{}
	}
	c.waiting[key] = append(c.waiting[key], a)
	c.mu.Unlock()
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	select {
	case f := <-a.turn:
		return f
	case <-gone:
		c.forget(key, a)
		return fate{}
	}
}

func (c *Conductor) forget(key string, a *arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[key] = slices.DeleteFunc(c.waiting[key], func(x *arrival) bool { return x == a })
}

// Run gives the turns until the score is over, the run leaves it, or ctx ends. It sees to it that no fault outlives it that has to end.
func (c *Conductor) Run(ctx context.Context, field Field, director *Director) {
	p := &performance{Conductor: c, field: field, director: director, begun: map[int]*begun{}}
	defer p.finish()
	defer c.release()
	for i, s := range c.score {
		if left := p.step(ctx, i, s); left != "" {
			c.leave(i, left)
			return
		}
		c.mu.Lock()
		c.order.Passed++
		c.mu.Unlock()
	}
}

// release lets everything pass from now on.
func (c *Conductor) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	for _, all := range c.waiting {
		for _, a := range all {
			a.turn <- fate{}
		}
	}
	clear(c.waiting)
}

func (c *Conductor) leave(step int, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var saw []string
	for _, all := range c.waiting {
		for _, a := range all {
			saw = append(saw, a.what)
		}
	}
	slices.Sort(saw)
	if len(saw) == 0 {
		saw = []string{"nothing"}
	}
	c.order.Left = fmt.Sprintf("the real run left the tape at step %d of %d: expected %s, saw %s%s",
		step+1, len(c.score), c.score[step], strings.Join(saw, " and "), why)
}

// performance is one Run: the pace, and the faults that are in force.
type performance struct {
	*Conductor
	field    Field
	director *Director
	lastAt   int64 // of the last step, on the score's base
	lastReal int64 // and on the run's
	begun    map[int]*begun
}

// step makes one step come to pass. It tells why not; " " means for no special reason.
func (p *performance) step(ctx context.Context, i int, s Step) (left string) {
	due := p.lastReal + s.At - p.lastAt
	if i == 0 {
		due = 0
	}
	defer func() { p.lastAt, p.lastReal = s.At, p.timeline() }()
	if s.Kind == StepBegin || s.Kind == StepEnd {
		if s.Kind == StepBegin {
			p.rest(ctx, i, s)
		}
		if !p.until(ctx, due) {
			return ", and then its end"
		}
		p.mark(ctx, s)
		return ""
	}
	a := p.await(ctx, s.key(), time.Duration(due-p.timeline())+scorePatience)
	if a == nil || !p.until(ctx, due) {
		return p.why(ctx)
	}
	p.forget(s.key(), a)
	a.turn <- fate{s.ID, s.Lost}
	if s.Kind == StepRequest && !s.Lost {
		p.await(ctx, replyKey(s.ID), applyPatience)
	}
	return ""
}

func (p *performance) why(ctx context.Context) string {
	if ctx.Err() != nil {
		return ", and then its end"
	}
	return " for " + scorePatience.String()
}

// until waits for an instant of the run; false when ctx ends first.
func (p *performance) until(ctx context.Context, at int64) bool {
	return sleep(ctx.Done(), time.Duration(at-p.timeline())) && ctx.Err() == nil
}

// await gives the first message that waits under a key, and leaves it there; nil when none comes in time.
func (p *performance) await(ctx context.Context, key string, limit time.Duration) *arrival {
	t := time.NewTimer(max(limit, 0))
	defer t.Stop()
	for {
		if a := p.first(key); a != nil {
			return a
		}
		select {
		case <-p.arrived:
		case <-t.C:
			return p.first(key)
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Conductor) first(key string) *arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.waiting[key]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// rest lets clients come as far as they had come in the score when a fault struck: what had left them by then has left them now.
func (p *performance) rest(ctx context.Context, i int, s Step) {
	for _, later := range p.score[i+1:] {
		if later.Kind == StepRequest && later.Sent <= s.At {
			p.await(ctx, later.key(), applyPatience)
		}
	}
	sleep(ctx.Done(), settlePace)
}
