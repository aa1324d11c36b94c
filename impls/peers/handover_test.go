package peers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
)

const (
	// slice is for how long one subject's clients compete before it is the next one's turn.
	slice = 150 * time.Millisecond
	// work is how long a holder holds: long enough for all others to be waiting when it releases.
	work = 2 * time.Millisecond
)

// crowd is a number of clients that compete for one lock.
type crowd struct {
	subject
	clients   []*client
	handOvers []handOver
	holds     int64
	cost      traffic
}

// handOver is one release and the next grant, which is another client's.
type handOver struct {
	total  time.Duration // from the call of the release to the return of the grant, as everywhere in lockbench
	unheld time.Duration // from the middle of the release, when the server did it, to the return of the grant
}

// holding is one hold by the process's clock.
type holding struct{ granted, released, answered time.Time }

func newCrowd(b *testing.B, s subject, addr string, n int) *crowd {
	b.Helper()
	c := &crowd{subject: s}
	for i := range n {
		c.clients = append(c.clients, connect(b, s, addr, fmt.Sprint("of", n), i))
	}
	return c
}

// turn lets the clients compete for one slice.
func (c *crowd) turn(b *testing.B, admin *redis.Client) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context()) // and no deadline, which would cut requests off
	defer time.AfterFunc(slice, cancel).Stop()
	r := &relay{passed: make(chan struct{}, len(c.clients))}
	for _, cl := range c.clients {
		cl.wires.start()
	}
	var competing sync.WaitGroup
	for _, cl := range c.clients {
		competing.Go(func() {
			if err := r.compete(ctx, cl); err != nil {
				b.Errorf("%s: %v", c.name, err)
			}
		})
	}
	competing.Wait()
	for _, cl := range c.clients {
		c.cost = c.cost.plus(cl.wires.stop())
	}
	c.holds += int64(len(r.holdings))
	c.handOvers = append(c.handOvers, r.handOvers()...)
	sweep(b, admin)
}

// relay is one slice: the holds in order. Who has released asks again only when another has been granted, so that every release is
// a hand-over to one who was waiting, and no lock looks quick by granting itself to its last holder.
type relay struct {
	passed   chan struct{} // told at each grant, for the one who has released; has room for all
	mu       sync.Mutex    // protects holdings
	holdings []holding
}

// compete acquires, works and releases until ctx ends.
func (r *relay) compete(ctx context.Context, cl *client) error {
	for ctx.Err() == nil {
		if _, err := cl.Acquire(ctx, history.Exclusive); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		n := r.granted()
		time.Sleep(work)
		if err := r.release(context.WithoutCancel(ctx), cl, n); err != nil {
			return err
		}
		select {
		case <-r.passed:
		case <-ctx.Done():
		}
	}
	return nil
}

// granted notes a grant and gives its number.
func (r *relay) granted() int {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holdings = append(r.holdings, holding{granted: now})
	if len(r.holdings) > 1 {
		select {
		case r.passed <- struct{}{}:
		default: // the last holder has left
		}
	}
	return len(r.holdings) - 1
}

// release ends hold n. The next may be granted before this one has heard.
func (r *relay) release(ctx context.Context, cl *client, n int) error {
	called := time.Now()
	err := cl.Release(ctx)
	answered := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holdings[n].released, r.holdings[n].answered = called, answered
	return err
}

func (r *relay) handOvers() []handOver {
	var out []handOver
	for i := 1; i < len(r.holdings); i++ {
		last, next := r.holdings[i-1], r.holdings[i].granted
		done := last.released.Add(last.answered.Sub(last.released) / 2)
		out = append(out, handOver{total: next.Sub(last.released), unheld: next.Sub(done)})
	}
	return out
}
