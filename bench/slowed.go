package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Slowed returns the lock with a cost added whose size is known: each hold takes a share longer than holds of the same key took before, one
// half of it before the client is handed its grant and the other before it releases. It shows whether a comparison notices a slowdown of that
// size. The variant is for the clients of one turn.
func Slowed(v impls.Variant, share float64) impls.Variant {
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

	got  time.Time     // when the client was handed its last grant
	rest time.Duration // from there to the end of its release, without what was added
	half time.Duration // what is added to the release
}

// Try asks once.
func (l *slowed) Try(ctx context.Context, m history.Mode) (impls.Grant, error) {
	return l.later(ctx, func() (impls.Grant, error) { return l.Lock.Try(ctx, m) })
}

// Acquire waits for the lock.
func (l *slowed) Acquire(ctx context.Context, m history.Mode) (impls.Grant, error) {
	return l.later(ctx, func() (impls.Grant, error) { return l.Lock.Acquire(ctx, m) })
}

// later hands a grant on when it has been made to cost more. One that nobody waits for any more is handed on at once.
func (l *slowed) later(ctx context.Context, ask func() (impls.Grant, error)) (impls.Grant, error) {
	call := l.clock.Now()
	g, err := ask()
	if err != nil {
		return g, err
	}
	now := l.clock.Now()
	l.half = l.costs.granted(l.key, now, call, l.rest, l.share) / 2
	l.spend(ctx, now, l.half)
	l.got = l.clock.Now()
	return g, nil
}

// Release ends the hold.
func (l *slowed) Release(ctx context.Context) error {
	l.spend(ctx, l.clock.Now(), l.half)
	err := l.Lock.Release(ctx)
	l.rest = l.clock.Now().Sub(l.got) - l.half
	return err
}

// spun is what a timer is too coarse for: that much of a cost is processor time.
const spun = 2 * time.Millisecond

// spend lets the time go by.
func (l *slowed) spend(ctx context.Context, from time.Time, cost time.Duration) {
	if cost > spun && l.clock.Sleep(ctx, cost-spun) != nil {
		return
	}
	for l.clock.Now().Sub(from) < cost {
	}
}

// holdCosts is what holds cost the clients of a turn, by key.
type holdCosts struct {
	mu   sync.Mutex // protects keys and what is in them
	keys map[string]*keyCost
}

// keyCost is what the last holds of a key cost, without what was added.
type keyCost struct {
	last  time.Time // grant
	added time.Duration
	costs []time.Duration // of the last recentHolds, in a ring
	next  int
}

const recentHolds = 15

// granted notes a grant and returns what is to be added to it. The hold cost the time since the last grant of the key, where the client waited
// for that one's end, and else its own acquire, with hold and release as they were the last time.
func (c *holdCosts) granted(key string, now, call time.Time, rest time.Duration, share float64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.keys[key]
	if k == nil {
		k = &keyCost{}
		c.keys[key] = k
	}
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
	k.last, k.added = now, time.Duration(share*float64(sorted[len(sorted)/2]))
	return k.added
}
