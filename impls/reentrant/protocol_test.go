package reentrant

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestEnteringAgainResetsTheLease(t *testing.T) {
	// reentrant-local sends no request, so its lease runs on.
	for name, left := range map[string]time.Duration{"reentrant-hash": lease, "reentrant-local": lease / 2} {
		redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
			a := join(t, s, name, "a")
			a.Hold(t)
			time.Sleep(lease / 2)
			a.Hold(t)
			if got := a.Redis.PTTL(t.Context(), a.In.Key).Val(); got != left {
				t.Errorf("%s: %v left after entering again at half the lease, want %v", name, got, left)
			}
		})
	}
}

func TestOwnersThatCollide(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b := join(t, s, v.Name, "thread-1"), join(t, s, v.Name, "thread-1")
			// Two processes draw different random numbers even where they name their threads alike.
			other := b.Env(t, "another process", lease)
			b.In.Rand = other.Rand
			b = open(t, b.Client, v.Name, b.In)
			a.Hold(t)
			_, err := b.Ask(t)
			if let := err == nil; let != v.Traits.LocalOwner {
				t.Errorf("%s: a second process with the same thread name: %v, but Traits.LocalOwner is %v", v.Name, err, v.Traits.LocalOwner)
			}
			a.Redis.Del(t.Context(), a.In.Key)
		}
	})
}

// TestALostReleaseCountsAsDone: the owner's count stays one too high on the server, and its next
// hold ends in an inner release. The lease must end the rest, which a running watchdog would
// prevent.
func TestALostReleaseCountsAsDone(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range []string{"reentrant-hash", "watchdog-timer", "redisson"} {
			a, b := join(t, s, name, "a"), join(t, s, name, "b")
			a.Hold(t)
			a.LoseRequest("eval")
			redistest.WantErr(t, name+": release whose request is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
			a.Hold(t)
			redistest.WantErr(t, name+": release", a.Release(t.Context()), nil)
			_, err := b.Ask(t)
			redistest.WantErr(t, name+": another's try", err, impls.ErrBusy)
			start := time.Now()
			if _, err := b.Acquire(t.Context(), history.Exclusive); err != nil {
				t.Errorf("%s: another waits: %v", name, err)
			}
			if waited := time.Since(start); waited > lease {
				t.Errorf("%s: another waited %v, want at most the lease %v", name, waited, lease)
			}
			_ = b.Release(t.Context())
		}
	})
}

// TestALostInnerReleaseCountsAsDone: the outer release leaves a count of one on the server. The
// lease must end that.
func TestALostInnerReleaseCountsAsDone(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range []string{"reentrant-hash", "watchdog-timer", "redisson"} {
			a, b := join(t, s, name, "a"), join(t, s, name, "b")
			a.Hold(t)
			a.Hold(t)
			a.LoseRequest("eval")
			redistest.WantErr(t, name+": inner release whose request is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
			redistest.WantErr(t, name+": outer release", a.Release(t.Context()), nil)
			ctx, cancel := context.WithTimeout(t.Context(), lease+time.Millisecond)
			if _, err := b.Acquire(ctx, history.Exclusive); err != nil {
				t.Errorf("%s: another waits for a lease: %v", name, err)
			}
			cancel()
			_ = b.Release(t.Context())
		}
	})
}

func TestReleaseMayBeRepeatedWhileItsOutcomeIsUnknown(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range []string{"reentrant-hash", "watchdog-timer", "redisson"} {
			a := join(t, s, name, "a")
			a.Hold(t)
			a.LoseRequest("eval")
			redistest.WantErr(t, name+": release whose request is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
			redistest.WantErr(t, name+": release again", a.Release(t.Context()), nil)
			redistest.WantErr(t, name+": release a third time", a.Release(t.Context()), impls.ErrNotHeld)
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
