package inject

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Leader decides when the messages of a real run pass, and its clients go on from their moments. Run gives the turns, in one goroutine.
type Leader interface {
	Traffic
	Moment(ctx context.Context, client string, m history.Moment)
	Run(ctx context.Context, director *faults.Director)
}

// turns is what waits for its turn in a real run.
type turns struct {
	arrived chan struct{} // cap 1: somebody waits for a turn who did not

	mu      sync.Mutex // protects what follows
	waiting map[string][]*arrival
	open    bool // nobody waits any more
}

// arrival is a message or a moment that waits for its turn.
type arrival struct {
	what string    // for people
	held *Held     // for a Sequencer
	turn chan turn // cap 1
}

// turn is what becomes of a message.
type turn struct {
	step int // its ID; 0 when it has none
	lost bool
}

func newTurns() turns {
	return turns{arrived: make(chan struct{}, 1), waiting: map[string][]*arrival{}}
}

// wait waits for the turn of a.
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

// release lets everything pass from now on.
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

// first is the first that waits under a key, and stays there; nil when nothing does.
func (t *turns) first(key string) *arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all := t.waiting[key]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// await returns the first that waits under a key, and leaves it there; nil when none comes in time.
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
