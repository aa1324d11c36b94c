package inject

import (
	"context"
	"slices"
	"sync"
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
	ask     func(m *Message, s faults.Step) turn // waits for the turn of a message at its step
	arrived chan struct{}                        // cap 1: signals a new arrival

	mu      sync.Mutex // guards the fields below
	waiting map[string][]*arrival
	open    bool // everything passes without waiting
}

// arrival is a message or a moment that waits for its turn.
type arrival struct {
	what string    // a description for messages to users
	at   int64     // for a Replayer: when it came
	held *held     // for a Sequencer
	turn chan turn // cap 1
}

type turn struct {
	step int // its step's ID; 0 when it has none
	lost bool
}

func newTurns(ask func(m *Message, s faults.Step) turn) turns {
	return turns{ask: ask, arrived: make(chan struct{}, 1), waiting: map[string][]*arrival{}}
}

// Request waits for the turn of a request.
func (t *turns) Request(m *Message) bool {
	if upstream.Handshake(m.Command.Name) {
		return true
	}
	granted := t.ask(m, faults.Step{Kind: faults.StepRequest, Client: m.Command.Client, Node: m.Node(), Command: m.Label})
	m.step = granted.step
	return !granted.lost
}

// Reply waits for the turn of the reply to a request that had one.
func (t *turns) Reply(m *Message) bool {
	if m.step == 0 {
		return true
	}
	return !t.ask(m, faults.Step{Kind: faults.StepReply, Of: m.step, Client: m.Command.Client, Node: m.Node(), Command: m.Command.Name}).lost
}

func (t *turns) wait(key string, a *arrival, gone <-chan struct{}) turn {
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
		t.forget(key, a)
		return turn{}
	}
}

func (t *turns) forget(key string, a *arrival) {
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
