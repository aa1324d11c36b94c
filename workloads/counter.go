package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
)

const counterKey = "job"

// counter: read a number, think, write it back plus one. Without mutual exclusion increments are
// lost.
var counter = &Workload{
	name:    "counter",
	about:   "read a number, think, write it back plus one; two at a time lose an increment",
	guarded: oneCounter,
	round: func(ctx context.Context, c *Client, n int) error {
		return c.guardedRound(ctx, guarded{key: counterKey, think: c.think(), update: increment})
	},
}

func oneCounter(Config) map[string]int64 { return map[string]int64{counterKey: 0} }

func increment(read int64) (int64, bool) { return read + 1, true }

// readMostly: a client of a lock without a shared mode reads under an exclusive hold.
var readMostly = &Workload{
	name:    "read-mostly",
	about:   "three rounds in four read under a shared hold, one writes under an exclusive one",
	guarded: oneCounter,
	round:   func(ctx context.Context, c *Client, n int) error { return c.guardedRound(ctx, c.readOrWrite(n)) },
}

// writeEvery: one round in so many writes; the clients write in different rounds.
const writeEvery = 4

// readOrWrite returns what the client does in round n.
func (c *Client) readOrWrite(n int) guarded {
	writes := (n+c.Index)%writeEvery == 0
	if c.config.Readers > 0 {
		writes = c.Index >= c.config.Readers
	}
	if writes {
		return guarded{key: counterKey, think: c.think(), update: increment}
	}
	return guarded{key: counterKey, mode: history.Shared, think: c.think(), update: func(read int64) (int64, bool) { return read, false }}
}

const winners = 10

// lottery is the example of article 003. Each round is a new draw with its own key.
var lottery = &Workload{
	name:  "lottery",
	about: "every instance starts the same draw; it must run once and pick exactly ten winners",
	guarded: func(cfg Config) map[string]int64 {
		return zeros("draw-%d", cfg.Ops)
	},
	round: func(ctx context.Context, c *Client, n int) error {
		return c.guardedRound(ctx, guarded{key: fmt.Sprintf("draw-%d", n), think: c.think(),
			update: func(drawn int64) (int64, bool) { return drawn + winners, drawn == 0 }})
	},
}

// ticks: a job that must run once per tick. A client that is a little late asks for the lock when
// another has done the job, and is refused only if that one keeps the lock.
var ticks = &Workload{
	name:    "ticks",
	about:   "at each tick, one every lease, read what is to do, and do it unless another client holds the lock; doing it twice is a lost update",
	guarded: oneCounter,
	round: func(ctx context.Context, c *Client, n int) error {
		tick := time.Duration(n) * c.config.Lease
		if err := c.sleepUntil(ctx, tick); err != nil {
			return err
		}
		todo, err := c.store.Read(ctx, counterKey, 0)
		if err != nil {
			return survivable(err)
		}
		late := time.Duration(c.rand.IntN(lateness)*jobsApart) * c.think()
		if err := c.sleepUntil(ctx, tick+late); err != nil {
			return err
		}
		_, err = c.holding(ctx, counterKey, history.Exclusive, func(h *handle) error {
			if err := h.section(ctx, guarded{key: counterKey, read: &todo, think: c.think(), update: increment}); err != nil {
				return err
			}
			return survivable(c.clock.Sleep(ctx, c.config.Keep))
		})
		return err
	},
}

const (
	jobsApart = 3 // how long after another, if not with it, a client asks for the lock, in jobs
	lateness  = 3 // how many different moments there are
)

func (c *Client) sleepUntil(ctx context.Context, at time.Duration) error {
	return c.clock.Sleep(ctx, at-time.Duration(c.timeline()))
}

// zeros returns n keys, at least one, of a format, each with the value 0.
func zeros(format string, n int) map[string]int64 {
	keys := map[string]int64{}
	for i := range max(n, 1) {
		keys[fmt.Sprintf(format, i)] = 0
	}
	return keys
}
