package inject

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Leader decides when the messages of a real run pass and when its clients go on from their
// moments. Run grants the turns, in one goroutine.
type Leader interface {
	Traffic
	Moment(ctx context.Context, client string, m history.Moment)
	Run(ctx context.Context, director *faults.Director)
}

// turns holds the messages and moments of a real run that wait for their turn.
type turns struct {
	timeline func() int64  // nanoseconds on the run's base
	steps    atomic.Int64  // so far, of a Sequencer
	arrived  chan struct{} // cap 1: signals a new arrival

	mu      sync.Mutex // guards the fields below
	waiting map[string][]*arrival
	open    bool // everything passes without waiting
}

// arrival is a message or a moment that waits for its turn.
type arrival struct {
	step    faults.Step // as far as it is known
	at      int64       // when it came
	since   int64       // and after how many steps
	message *Message    // nil: it is a moment
	turn    chan turn   // cap 1
}

func (a *arrival) reply() bool { return a.step.Kind == faults.StepReply }

type turn struct {
	step int // its step's ID; 0 when it has none
	lost bool
}

func newTurns(timeline func() int64) turns {
	return turns{timeline: timeline, arrived: make(chan struct{}, 1), waiting: map[string][]*arrival{}}
}

// Request waits for the turn of a request.
func (t *turns) Request(m *Message) bool {
	if upstream.Handshake(m.Command.Name) {
		return true
	}
	s := faults.Step{Kind: faults.StepRequest, Client: m.Command.Client, Node: m.Node(), Command: m.Label}
	granted := t.wait(s, m, m.gone)
	m.step = granted.step
	return !granted.lost
}

// Reply waits for the turn of the reply to a request that had one.
func (t *turns) Reply(m *Message) bool {
	if m.step == 0 {
		return true
	}
	s := faults.Step{Kind: faults.StepReply, Of: m.step, Client: m.Command.Client, Node: m.Node(), Command: m.Command.Name}
	return !t.wait(s, m, m.gone).lost
}

// wait waits for the turn of a message, or of a moment without one, at a step.
func (t *turns) wait(s faults.Step, m *Message, gone <-chan struct{}) turn {
	a := &arrival{step: s, at: t.timeline(), since: t.steps.Load(), message: m, turn: make(chan turn, 1)}
	key := s.Key()
	t.mu.Lock()
	if t.open {
		t.mu.Unlock()
		return turn{}
	}
	t.waiting[key] = append(t.waiting[key], a)
	t.mu.Unlock()
	select {
	case t.arrived <- struct{}{}:
	default:
	}
	select {
	case f := <-a.turn:
		return f
	case <-gone:
		t.forget(a)
		return turn{}
	}
}

func (t *turns) forget(a *arrival) {
	key := a.step.Key()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting[key] = slices.DeleteFunc(t.waiting[key], func(x *arrival) bool { return x == a })
	if len(t.waiting[key]) == 0 {
		delete(t.waiting, key)
	}
}

func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
	for _, all := range t.waiting {
		for _, a := range all {
			a.turn <- turn{}
		}
	}
	clear(t.waiting)
}

// first returns the first arrival that waits under a key, without removing it; nil if there is
// none.
func (t *turns) first(key string) *arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all := t.waiting[key]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// await returns the first arrival that waits under a key, without removing it; nil if none comes in
// time.
func (t *turns) await(ctx context.Context, key string, limit time.Duration) *arrival {
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	for {
		if a := t.first(key); a != nil {
			return a
		}
		select {
		case <-t.arrived:
		case <-timer.C:
			return t.first(key)
		case <-ctx.Done():
			return nil
		}
	}
}
