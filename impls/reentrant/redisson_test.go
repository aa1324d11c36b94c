package reentrant

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestRedissonWakesItsWaiters(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "redisson", "a"), join(t, s, "redisson", "b")
		a.Hold(t)
		start := time.Now()
		took := b.Waits(t.Context(), history.Exclusive)
		time.Sleep(lease / 10)
		if err := a.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The poll interval is a millisecond: a polling waiter could be as quick, but would send
		// dozens of requests.
		if o := <-took; o.Err != nil || o.At.Sub(start) != lease/10 {
			t.Errorf("the waiter was granted after %v, want at the release, after %v; %v", o.At.Sub(start), lease/10, o.Err)
		}
	})
}

func TestRedissonSendsOneRequestWhileItWaits(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "redisson", "a"), join(t, s, "redisson", "b")
		a.Hold(t)
		sent := b.Record()
		took := b.Waits(t.Context(), history.Exclusive)
		time.Sleep(lease / 2)
		synctest.Wait()
		asked := 0
		for _, line := range sent.Take() {
			if strings.HasPrefix(line, "eval") {
				asked++
			}
		}
		// Once at first, once more when the subscription has begun; a script that is not known yet
		// costs one more each.
		if asked > 3 {
			t.Errorf("the waiter sent %d requests in half a lease", asked)
		}
		_ = a.Release(t.Context())
		<-took
	})
}

func TestRedissonWaiterOutlivesADeadHolderAndADeadChannel(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "redisson", "a"), join(t, s, "redisson", "b")
		a.Hold(t)
		if err := a.Close(); err != nil { // ends its watchdog, and nobody publishes
			t.Fatal(err)
		}
		start := time.Now()
		_, err := b.Acquire(t.Context(), history.Exclusive)
		if d := time.Since(start); err != nil || d < lease || d > lease+2*time.Millisecond {
			t.Errorf("the waiter was granted after %v, want at the end of the lease %v; %v", d, lease, err)
		}
	})
}

func TestRedissonLeavesNoSubscription(t *testing.T) {
	redistest.Real(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "redisson", "a"), join(t, s, "redisson", "b")
		a.Hold(t)
		start := time.Now()
		took := b.Waits(t.Context(), history.Exclusive)
		time.Sleep(20 * time.Millisecond)
		if got := a.Redis.PubSubChannels(t.Context(), "*").Val(); !slices.Contains(got, channel(a.In)) {
			t.Errorf("channels while one waits: %q, want %q", got, channel(a.In))
		}
		if err := a.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o := <-took; o.Err != nil || o.At.Sub(start) > lease/2 {
			t.Errorf("the waiter needed %v, %v", o.At.Sub(start), o.Err)
		}
		deadline := time.Now().Add(5 * time.Second)
		for len(a.Redis.PubSubChannels(t.Context(), "*").Val()) > 0 {
			if time.Now().After(deadline) {
				t.Fatal("a subscription is left")
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}
