package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// slowedVariant returns the lock with an added cost of known size: each hold takes longer by a share of what earlier holds of the key took, one half of it
// before the grant returns and the other before the release begins. It tests whether a comparison detects a slowdown of that size. The variant is
// for the clients of one turn.
func slowedVariant(v impls.Variant, share float64) impls.Variant {
	open := v.New
	costs := &holdCosts{keys: map[string]*keyCost{}}
	v.New = func(env impls.Env) (impls.Lock, error) {
		l, err := open(env)
		if err != nil {
			return nil, err
		}
		return &slowed{Lock: l, clock: env.Clock, key: env.Key, costs: costs, share: share}, nil
	}
	return v
}

// slowed is one client's handle.
type slowed struct {
	impls.Lock
	clock impls.Clock
	key   string
	costs *holdCosts
	share float64

	got   time.Time     // when the lock gave the last grant
	half  time.Duration // the cost to add to it, and again to its release
	added time.Duration // what was really added, more on a busy machine
	rest  time.Duration // from the grant to the end of its release, without what was added
}

// Try makes one attempt.
func (l *slowed) Try(ctx context.Context, m history.Mode) (impls.Grant, error) {
	return l.later(ctx, func() (impls.Grant, error) { return l.Lock.Try(ctx, m) })
}

// Acquire waits for the lock.
func (l *slowed) Acquire(ctx context.Context, m history.Mode) (impls.Grant, error) {
	return l.later(ctx, func() (impls.Grant, error) { return l.Lock.Acquire(ctx, m) })
}

// later delays a grant by its added cost. If ctx has ended it returns the grant at once.
func (l *slowed) later(ctx context.Context, ask func() (impls.Grant, error)) (impls.Grant, error) {
	call := l.clock.Now()
	g, err := ask()
	if err != nil {
		return g, err
	}
	l.got = l.clock.Now()
	l.half = l.costs.granted(l.key, l.got, call, l.rest, l.share) / 2
	l.added = l.spend(ctx, l.half)
	return g, nil
}

// Release ends the hold.
func (l *slowed) Release(ctx context.Context) error {
	l.added += l.spend(ctx, l.half)
	err := l.Lock.Release(ctx)
	l.rest = l.clock.Now().Sub(l.got) - l.added
	return err
}

// spun is the last part of a cost, spent as processor time because a timer is too coarse.
const spun = 2 * time.Millisecond

// spend waits until the cost has passed, and returns how long that took. The excess must not count as the lock's own time: the next cost would be a share
// of it, too, and grow from hold to hold.
func (l *slowed) spend(ctx context.Context, cost time.Duration) time.Duration {
	from := l.clock.Now()
	if cost > spun && l.clock.Sleep(ctx, cost-spun) != nil {
		cost = 0
	}
	now := l.clock.Now()
	for now.Sub(from) < cost {
		now = l.clock.Now()
	}
	l.costs.spent(l.key, now.Sub(from))
	return now.Sub(from)
}

// holdCosts holds the costs of a turn's holds, by key.
type holdCosts struct {
	mu   sync.Mutex // guards keys and their contents
	keys map[string]*keyCost
}

// keyCost holds the costs of the last holds of a key, without what was added.
type keyCost struct {
	last  time.Time       // grant
	added time.Duration   // since then
	costs []time.Duration // of the last recentHolds, as a ring
	next  int
}

const recentHolds = 15

// granted records a grant and returns the cost to add to it. The cost of a hold is the time since the last grant of the key, if the client waited
// for that hold to end; otherwise that of its own acquire, with the hold and release of its last time.
func (c *holdCosts) granted(key string, now, call time.Time, rest time.Duration, share float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(key)
	cost := now.Sub(call) + rest
	if k.last.After(call) {
		cost = now.Sub(k.last) - k.added
	}
	if len(k.costs) < recentHolds {
		k.costs = append(k.costs, cost)
	} else {
		k.costs[k.next%recentHolds] = cost
	}
	k.next++
	sorted := slices.Sorted(slices.Values(k.costs))
	k.last, k.added = now, 0
	return time.Duration(share * float64(sorted[len(sorted)/2]))
}

// spent records what was added to the hold of a key that was granted last.
func (c *holdCosts) spent(key string, added time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(key).added += added
}

func (c *holdCosts) of(key string) *keyCost {
	k := c.keys[key]
	if k == nil {
		k = &keyCost{}
		c.keys[key] = k
	}
	return k
}
