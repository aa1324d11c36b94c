package inject

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Replayer leads the messages and the faults of a real run through a schedule. It is the Traffic of the proxy: every request and
// every reply waits until it is its turn, and so does every client at its moments; one goroutine, Run, gives the turns. A request's turn is over when
// its node has answered, so that nodes execute in the order of the schedule. Time passes between two steps as it did in the schedule, at least:
// what a lock's timers and leases waited for then, they wait for now.
//
// A run that does something else than the schedule says leaves it: from then on everything passes as it comes, and [Replayer.Order]
// says where that was.
type Replayer struct {
	turns
	schedule faults.Schedule
	timeline func() int64
	order    faults.Order // protected by mu
}

// The patience of a Replayer.
const (
	stepPatience  = 3 * time.Second       // with a message that does not come when it is due
	applyPatience = 50 * time.Millisecond // with a node that does not answer what it was sent: it may be meant to wait
	settlePace    = 5 * time.Millisecond  // for clients to come to rest before a fault strikes
)

// NewReplayer makes a replayer for one run, whose timeline is nanoseconds on its base.
func NewReplayer(schedule faults.Schedule, timeline func() int64) *Replayer {
	return &Replayer{turns: newTurns(), schedule: schedule, timeline: timeline, order: faults.Order{Steps: len(schedule)}}
}

// Order is how far the run was led.
func (c *Replayer) Order() faults.Order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order
}

var _ Leader = (*Replayer)(nil)

// Request waits for the turn of a request.
func (c *Replayer) Request(m *Message) bool {
	if upstream.Handshake(m.Command.Name) {
		return true
	}
	s := faults.Step{Kind: faults.StepRequest, Client: m.Command.Client, Node: m.Node(), Command: m.Label}
	t := c.turnOf(s, m.gone)
	m.step = t.step
	return !t.lost
}

// Reply waits for the turn of the reply to a request that had one.
func (c *Replayer) Reply(m *Message) bool {
	if m.step == 0 {
		return true
	}
	s := faults.Step{Kind: faults.StepReply, Of: m.step, Client: m.Command.Client, Node: m.Node(), Command: m.Command.Name}
	return !c.turnOf(s, m.gone).lost
}

// Moment waits for the turn of a client's moment. A client whose context ends does not wait.
func (c *Replayer) Moment(ctx context.Context, client string, m history.Moment) {
	s := faults.Step{Kind: faults.StepMoment, Client: client, Command: string(m)}
	c.turnOf(s, ctx.Done())
}

// turnOf waits for the turn of a step.
func (c *Replayer) turnOf(s faults.Step, gone <-chan struct{}) turn {
	return c.wait(s.Key(), &arrival{what: s.String(), turn: make(chan turn, 1)}, gone)
}

// Run returns the turns until the schedule is over, the run leaves it, or ctx ends. The director does the faults, and ends those that must not
// outlive the run.
func (c *Replayer) Run(ctx context.Context, director *faults.Director) {
	p := &replay{Replayer: c, director: director, begun: map[int]*faults.Fault{}}
	defer c.release()
	for i, s := range c.schedule {
		if left := p.step(ctx, i, s); left != "" {
			c.leave(i, left)
			return
		}
		c.mu.Lock()
		c.order.Passed++
		c.mu.Unlock()
	}
}

func (c *Replayer) leave(step int, why string) {
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
		step+1, len(c.schedule), c.schedule[step], strings.Join(saw, " and "), why)
}

// replay is one Run: the pace, and the faults that are in force.
type replay struct {
	*Replayer
	director *faults.Director
	lastAt   int64 // of the last step, on the schedule's base
	lastReal int64 // and on the run's
	begun    map[int]*faults.Fault
}

// step performs one step; left is why the run diverged from it, in words that follow what was expected and what came.
func (p *replay) step(ctx context.Context, i int, s faults.Step) (left string) {
	due := p.lastReal + s.At - p.lastAt
	if i == 0 {
		due = 0
	}
	defer func() { p.lastAt, p.lastReal = s.At, p.timeline() }()
	if s.Kind == faults.StepBegin || s.Kind == faults.StepEnd {
		if s.Kind == faults.StepBegin {
			p.rest(ctx, i, s)
		}
		if !p.until(ctx, due) {
			return ", and then its end"
		}
		p.fault(ctx, s)
		return ""
	}
	a := p.await(ctx, s.Key(), time.Duration(due-p.timeline())+stepPatience)
	if a == nil || !p.until(ctx, due) {
		return p.why(ctx)
	}
	p.forget(s.Key(), a)
	a.turn <- turn{s.ID, s.Lost}
	if s.Kind == faults.StepRequest && !s.Lost {
		p.await(ctx, faults.Step{Kind: faults.StepReply, Of: s.ID}.Key(), applyPatience)
	}
	return ""
}

// fault begins or ends a fault.
func (p *replay) fault(ctx context.Context, s faults.Step) {
	if s.Kind == faults.StepEnd {
		p.director.End(p.begun[s.Of])
		return
	}
	spec := s.Fault
	if spec.Fault == faults.Failover {
		spec.Until = faults.OtherEntered // it lasts: the step that ends it is the promotion
	}
	p.begun[s.ID] = p.director.Begin(ctx, spec, "as on the tape", nil)
}

func (p *replay) why(ctx context.Context) string {
	if ctx.Err() != nil {
		return ", and then its end"
	}
	return " for " + stepPatience.String()
}

// until waits for an instant of the run; false when ctx ends first.
func (p *replay) until(ctx context.Context, at int64) bool {
	return sleep(ctx.Done(), time.Duration(at-p.timeline())) && ctx.Err() == nil
}

// rest lets clients come as far as they had come in the schedule when a fault struck: what had left them by then has left them now.
func (p *replay) rest(ctx context.Context, i int, s faults.Step) {
	for _, later := range p.schedule[i+1:] {
		if later.Kind == faults.StepRequest && later.Sent <= s.At {
			p.await(ctx, later.Key(), applyPatience)
		}
	}
	sleep(ctx.Done(), settlePace)
}
