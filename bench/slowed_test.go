package bench

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// steps is a clock that advances a little at each reading.
type steps struct{ now time.Time }

func (c *steps) Now() time.Time { c.now = c.now.Add(time.Microsecond); return c.now }
func (c *steps) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

// coarse is a clock on a busy machine: sleeps, and some other steps, take too long.
type coarse struct {
	steps
	read int
}

func (c *coarse) Now() time.Time {
	if c.read++; c.read%50 == 0 {
		c.now = c.now.Add(3 * time.Millisecond)
	}
	return c.steps.Now()
}

// timed is a lock whose acquires and releases take fixed times.
type timed struct {
	impls.Lock
	clock            *steps
	acquire, release time.Duration
}

func (l *timed) Acquire(ctx context.Context, _ history.Mode) (impls.Grant, error) {
	return impls.Grant{}, l.clock.Sleep(ctx, l.acquire)
}
func (l *timed) Release(ctx context.Context) error { return l.clock.Sleep(ctx, l.release) }

// TestSlowedTakesTheShareLonger: the time of many rounds of one client, split between acquire and release.
func TestSlowedTakesTheShareLonger(t *testing.T) {
	for _, c := range []struct {
		why              string
		acquire, release time.Duration
		share            float64
	}{
		{"a fast lock: all of it is spun", 400 * time.Microsecond, 400 * time.Microsecond, 0.2},
		{"a slow lock: most of it is slept", 100 * time.Millisecond, 20 * time.Millisecond, 0.2},
		{"a share above one", 400 * time.Microsecond, 100 * time.Microsecond, 2},
		{"none", 400 * time.Microsecond, 400 * time.Microsecond, 0},
	} {
		clock := &steps{}
		v := slowedVariant(impls.Variant{New: func(impls.Env) (impls.Lock, error) {
			return &timed{clock: clock, acquire: c.acquire, release: c.release}, nil
		}}, c.share)
		l, err := v.New(impls.Env{Key: "k", Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		const rounds = 200
		var acquires, releases time.Duration
		for range rounds {
			begin := clock.now
			_, _ = l.Acquire(t.Context(), history.Exclusive)
			between := clock.now
			_ = l.Release(t.Context())
			acquires, releases = acquires+between.Sub(begin), releases+clock.now.Sub(between)
		}
		base := c.acquire + c.release
		if got := float64(acquires+releases)/float64(rounds*base) - 1; got < c.share-0.03 || got > c.share+0.03 {
			t.Errorf("%s: the rounds take %.3f longer, want %v", c.why, got, c.share)
		}
		half := float64(base) * c.share / 2
		for _, part := range []struct {
			name    string
			got     time.Duration
			without time.Duration
		}{{"acquire", acquires, c.acquire}, {"release", releases, c.release}} {
			if more := float64(part.got-rounds*part.without) / rounds; more < half*0.9-5e3 || more > half*1.1+5e3 {
				t.Errorf("%s: each %s takes %v longer, want %v", c.why, part.name, time.Duration(more), time.Duration(half))
			}
		}
	}
}

// TestSlowedDoesNotGrow: a cost that took too long, because the processor was busy, makes no later cost longer.
func TestSlowedDoesNotGrow(t *testing.T) {
	clock := &coarse{}
	lock := &timed{clock: &clock.steps, acquire: 200 * time.Microsecond, release: 200 * time.Microsecond}
	v := slowedVariant(impls.Variant{New: func(impls.Env) (impls.Lock, error) { return lock, nil }}, 0.5)
	l, err := v.New(impls.Env{Key: "k", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		_, _ = l.Acquire(t.Context(), history.Exclusive)
		_ = l.Release(t.Context())
	}
	if half := l.(*slowed).half; half > 110*time.Microsecond {
		t.Errorf("half of the cost is %v in the end, want 100µs", half)
	}
}

// TestHoldCostUnderContention: if the client waited for the previous hold, the cost of its own is the time since that grant, without the added
// cost.
func TestHoldCostUnderContention(t *testing.T) {
	c := &holdCosts{keys: map[string]*keyCost{}}
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	for _, step := range []struct {
		why              string
		key              string
		granted, call    int
		rest, wantAdding time.Duration
	}{
		{"the first grant of a key: the acquire alone", "a", 10, 0, 0, 2 * time.Millisecond},
		{"called at 5, while the first held: 12 after its grant, of which 2 were added", "a", 22, 5, 99 * time.Millisecond, 2 * time.Millisecond},
		{"called when the key was free: its acquire of 4 and the rest of 6", "a", 104, 100, 6 * time.Millisecond, 2 * time.Millisecond},
		{"another key is independent", "b", 150, 145, 0, time.Millisecond},
	} {
		got := c.granted(step.key, at(step.granted), at(step.call), step.rest, 0.2)
		if got != step.wantAdding {
			t.Errorf("%s: adds %v, want %v", step.why, got, step.wantAdding)
		}
		c.spent(step.key, got)
	}
}
