package inject

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Replayer replays a schedule in a real run. As the Traffic of the proxy it holds every request and
// every reply until its turn comes, and every client at its moments; one goroutine, Run, grants the
// turns. A request's turn ends when its node has replied, so that nodes execute requests in the
// order of the schedule. The time between two steps is at least what it was in the schedule, so
// that a lock's timers and leases advance as they did then, and longer only by what a message or a
// node is late: what Run itself takes does not add up.
//
// A run that differs from the schedule diverges: from then on messages pass as they come, and
// [Replayer.Order] reports the step.
type Replayer struct {
	turns
	schedule faults.Schedule
	order    faults.Order // protected by mu

	director *faults.Director      // of Run
	lastAt   int64                 // when the last step was done, on the schedule's base
	lastReal int64                 // and on the run's
	begun    map[int]*faults.Fault // by the step's ID
}

// Timeouts of a Replayer.
const (
	stepPatience  = 3 * time.Second       // for a message that is due and does not come
	applyPatience = 50 * time.Millisecond // for a node's reply to a request: the command may block
	settlePace    = 5 * time.Millisecond  // for clients to come to rest before a fault is injected
)

// NewReplayer makes a replayer for one run, whose timeline is nanoseconds on its base.
func NewReplayer(schedule faults.Schedule, timeline func() int64) *Replayer {
	return &Replayer{turns: newTurns(timeline), schedule: schedule, order: faults.Order{Steps: len(schedule)},
		begun: map[int]*faults.Fault{}}
}

// Order returns how far the run followed the schedule.
func (c *Replayer) Order() faults.Order {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order
}

var _ Leader = (*Replayer)(nil)

// Moment waits for the turn of a client's moment, or until ctx ends.
func (c *Replayer) Moment(ctx context.Context, client string, m history.Moment) {
	c.wait(faults.Step{Kind: faults.StepMoment, Client: client, Command: string(m)}, nil, ctx.Done())
}

// Run grants the turns until the schedule ends, the run diverges, or ctx ends. The director applies
// the faults, and ends those that must not stay.
func (c *Replayer) Run(ctx context.Context, director *faults.Director) {
	c.director = director
	defer c.release()
	defer func() { // no step will end these, and a client that stays paused never finishes
		for _, f := range c.begun {
			if f != nil && f.MustEnd() {
				director.End(f)
			}
		}
	}()
	for i, s := range c.schedule {
		left := c.step(ctx, i, s)
		c.mu.Lock()
		if left == "" {
			c.order.Passed++
			c.mu.Unlock()
			continue
		}
		var saw []string // what waits for its turn
		for _, all := range c.waiting {
			for _, a := range all {
				saw = append(saw, a.step.String())
			}
		}
		slices.Sort(saw)
		c.order.Left = fmt.Sprintf("the real run left the tape at step %d of %d: expected %s, saw %s%s",
			i+1, len(c.schedule), s, cmp.Or(strings.Join(saw, " and "), "nothing"), left)
		c.mu.Unlock()
		return
	}
}

// step performs one step; left says why the run diverged, phrased to follow what was expected and
// what came.
func (c *Replayer) step(ctx context.Context, i int, s faults.Step) (left string) {
	due := c.lastReal + s.At - c.lastAt
	if i == 0 {
		due = 0
	}
	switch s.Kind {
	case faults.StepBegin: // clients have sent what they had sent when the fault was injected in the schedule
		for _, later := range c.schedule[i+1:] {
			if later.Kind == faults.StepRequest && later.Sent <= s.At {
				c.await(ctx, later.Key(), applyPatience)
			}
		}
		sleep(ctx.Done(), settlePace)
		return c.fault(ctx, s, due)
	case faults.StepEnd:
		return c.fault(ctx, s, due)
	}
	a := c.await(ctx, s.Key(), time.Duration(due-c.timeline())+stepPatience)
	if a == nil || !c.until(ctx, due) {
		return why(ctx)
	}
	c.lastAt, c.lastReal = s.At, max(due, a.at)
	c.forget(a)
	a.turn <- turn{s.ID, s.Lost}
	if s.Kind == faults.StepRequest && !s.Lost {
		if c.await(ctx, faults.Step{Kind: faults.StepReply, Of: s.ID}.Key(), applyPatience) != nil {
			c.lastAt, c.lastReal = s.Done(), c.timeline()
		}
	}
	return ""
}

// fault begins or ends a fault when it is due.
func (c *Replayer) fault(ctx context.Context, s faults.Step, due int64) (left string) {
	if !c.until(ctx, due) {
		return why(ctx)
	}
	if s.Kind == faults.StepEnd {
		c.director.End(c.begun[s.Of])
	} else {
		spec := s.Fault
		if kind, _ := faults.FindKind(spec.Fault); kind.Promotes() {
			spec.Until = faults.OtherEntered // give it a length: it ends with the step that promotes the replica
		}
		c.begun[s.ID] = c.director.Begin(ctx, spec, "as on the tape", nil)
	}
	c.lastAt, c.lastReal = s.At, c.timeline() // a promotion takes time that the schedule does not have
	return ""
}

// why says why a step did not come.
func why(ctx context.Context) string {
	if ctx.Err() != nil {
		return ", and then its end"
	}
	return " for " + stepPatience.String()
}

// until waits for an instant of the run; it returns false if ctx ends first.
func (c *Replayer) until(ctx context.Context, at int64) bool {
	return sleep(ctx.Done(), time.Duration(at-c.timeline())) && ctx.Err() == nil
}
