package inject

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func TestGateStallsSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGoroutine()
		clock, start := g.Clock(0), time.Now()
		woke := make(chan time.Duration, 1)
		go func() {
			_ = clock.Sleep(t.Context(), 10*time.Millisecond)
			woke <- time.Since(start)
		}()
		time.Sleep(5 * time.Millisecond)
		g.set(true)
		time.Sleep(100 * time.Millisecond)
		g.set(false)
		if got := <-woke; got != 105*time.Millisecond {
			t.Errorf("a sleep of 10 ms in a client that was stopped from 5 ms to 105 ms ended after %v, want 105ms", got)
		}
	})
}

func TestGateCrashEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGoroutine()
		ours, theirs := net.Pipe()
		defer theirs.Close()
		if !g.keep(ours) {
			t.Fatal("a live client's connection was refused")
		}
		slept := make(chan error, 1)
		go func() { slept <- g.Clock(0).Sleep(t.Context(), time.Hour) }()
		g.set(true) // a stopped client can be killed too
		passed := make(chan error, 1)
		go func() { passed <- g.Pass() }()
		synctest.Wait()
		must(t, g.Crash(t.Context()))
		for name, ch := range map[string]chan error{"sleep": slept, "pass": passed} {
			if err := <-ch; !errors.Is(err, impls.ErrCrashed) {
				t.Errorf("%s of a dead client: %v, want ErrCrashed", name, err)
			}
		}
		if _, err := theirs.Read(make([]byte, 1)); err == nil {
			t.Error("the dead client's connection is still open")
		}
		if g.keep(ours) {
			t.Error("a dead client opened a connection")
		}
	})
}

func TestGateClock(t *testing.T) {
	rows := []struct {
		name  string
		skew  time.Duration
		sleep time.Duration
		limit time.Duration // of the context; 0 = none
		want  error
	}{
		{"a sleep in its time", 0, 10 * time.Millisecond, 0, nil},
		{"no sleep at all", 0, 0, 0, nil},
		{"the context ends first", 0, time.Second, 5 * time.Millisecond, context.DeadlineExceeded},
		{"a clock that is ahead sleeps as long as any", time.Hour, 10 * time.Millisecond, 0, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if r.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, r.limit)
					defer cancel()
				}
				clock, start := NewGoroutine().Clock(r.skew), time.Now()
				if err := clock.Sleep(ctx, r.sleep); !errors.Is(err, r.want) {
					t.Errorf("Sleep: %v, want %v", err, r.want)
				}
				if r.want == nil && time.Since(start) != r.sleep {
					t.Errorf("slept %v, want %v", time.Since(start), r.sleep)
				}
				if got := time.Until(clock.Now()); got != r.skew {
					t.Errorf("the clock is off by %v, want %v", got, r.skew)
				}
			})
		})
	}
}
