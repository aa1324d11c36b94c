package reentrant

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestHolderEntersAgainAndOthersDoNot(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
			for range 3 {
				a.hold(t)
			}
			for range 3 {
				_, err := b.try(t)
				wantErr(t, v.Name+": another's try", err, impls.ErrBusy)
				wantErr(t, v.Name+": another's release", b.lock.Release(t.Context()), impls.ErrNotHeld)
				wantErr(t, v.Name+": release", a.lock.Release(t.Context()), nil)
			}
			wantErr(t, v.Name+": one release too many", a.lock.Release(t.Context()), impls.ErrNotHeld)
			b.hold(t)
			wantErr(t, v.Name+": release", b.lock.Release(t.Context()), nil)
		}
	})
}

func TestTraitsAreTrue(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a := join(t, s, v.Name, "a")
			g := a.hold(t)
			_, err := a.lock.Extend(t.Context())
			if got := err == nil; got != v.Traits.Extends {
				t.Errorf("%s: extend: %v, but Traits.Extends is %v", v.Name, err, v.Traits.Extends)
			}
			if got := g.Lost != nil; got != v.Traits.NotifiesLoss {
				t.Errorf("%s: a channel for the loss: %v, but Traits.NotifiesLoss is %v", v.Name, got, v.Traits.NotifiesLoss)
			}
			if got := g.Token != ""; got != v.Traits.UniqueToken {
				t.Errorf("%s: token %q, but Traits.UniqueToken is %v", v.Name, g.Token, v.Traits.UniqueToken)
			}
			time.Sleep(2 * lease)
			if got := len(a.seen.take()) > 0; got != v.Traits.SelfRenewing {
				t.Errorf("%s: renewed in two leases: %v, but Traits.SelfRenewing is %v", v.Name, got, v.Traits.SelfRenewing)
			}
			_, err = a.lock.Try(t.Context(), history.Shared)
			wantErr(t, v.Name+": shared", err, impls.ErrUnsupported)
			_ = a.lock.Release(t.Context())
			time.Sleep(2 * lease)
		}
	})
}

func TestEnteringAgainResetsTheLease(t *testing.T) {
	// reentrant-local does not ask the server, so its lease runs on.
	for name, left := range map[string]time.Duration{"reentrant-hash": lease, "reentrant-local": lease / 2} {
		redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
			a := join(t, s, name, "a")
			a.hold(t)
			time.Sleep(lease / 2)
			a.hold(t)
			if got := a.Redis.PTTL(t.Context(), a.env.Key).Val(); got != left {
				t.Errorf("%s: %v left after entering again at half the lease, want %v", name, got, left)
			}
		})
	}
}

func TestReleaseAfterTheLeaseLeavesTheNextHolderAlone(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b, c := join(t, s, v.Name, "a"), join(t, s, v.Name, "b"), join(t, s, v.Name, "c")
			a.hold(t)
			a.Redis.Del(t.Context(), a.env.Key) // as the end of the lease does
			b.hold(t)
			err := a.lock.Release(t.Context())
			if v.Name == "reentrant-local" || v.Name == "watchdog-bounded" {
				wantErr(t, v.Name+": late release, whose answer is dropped", err, nil)
			} else {
				wantErr(t, v.Name+": late release", err, impls.ErrLost)
			}
			wantErr(t, v.Name+": and again", a.lock.Release(t.Context()), impls.ErrNotHeld)
			_, err = c.try(t)
			wantErr(t, v.Name+": a third client", err, impls.ErrBusy)
			wantErr(t, v.Name+": the next holder's release", b.lock.Release(t.Context()), nil)
		}
	})
}

// releases are the scripts that release, by variant.
var releases = map[string]*impls.Script{
	"reentrant-hash": releaseScript, "watchdog-timer": releaseScript, "redisson": redissonReleaseScript,
	"reentrant-local": localReleaseScript, "watchdog-bounded": localReleaseScript,
}

func TestLostRepliesAreUnknown(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a := join(t, s, v.Name, "a")
			a.hold(t)
			a.LoseReply(releases[v.Name].Digest()) // and no renewal's
			wantErr(t, v.Name+": release whose reply is lost", a.lock.Release(t.Context()), impls.ErrUnknownOutcome)
			a.Redis.Del(t.Context(), a.env.Key)
			b := join(t, s, v.Name, "b")
			take := "eval"
			if v.Traits.UniqueToken {
				take = "\nset\r"
			}
			b.LoseReply(take)
			_, err := b.lock.Acquire(t.Context(), history.Exclusive)
			wantErr(t, v.Name+": acquire whose reply is lost", err, impls.ErrUnknownOutcome)
			b.Redis.Del(t.Context(), b.env.Key)
		}
	})
}

func TestWaiterIsCancelled(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
			a.hold(t)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			_, err := b.lock.Acquire(ctx, history.Exclusive)
			cancel()
			wantErr(t, v.Name+": acquire past its deadline", err, impls.ErrCancelled)
			wantErr(t, v.Name+": release of what was not granted", b.lock.Release(t.Context()), impls.ErrNotHeld)
			wantErr(t, v.Name+": release", a.lock.Release(t.Context()), nil)
		}
	})
}

func TestOwnersThatCollide(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a, b := join(t, s, v.Name, "thread-1"), join(t, s, v.Name, "thread-1")
			// Two processes draw different random numbers even where they name their threads alike.
			other := b.Env(t, "another process", lease)
			b.env.Rand = other.Rand
			b = open(t, b.Client, v.Name, b.env)
			a.hold(t)
			_, err := b.try(t)
			if let := err == nil; let != v.Traits.LocalOwner {
				t.Errorf("%s: a second process with the same thread name: %v, but Traits.LocalOwner is %v", v.Name, err, v.Traits.LocalOwner)
			}
			a.Redis.Del(t.Context(), a.env.Key)
		}
	})
}

// TestReleaseThatIsLostIsCountedAsDone: the owner's count stays one too high on the server, its next hold ends in an inner
// release, and the lease must end what is left, which a watchdog that went on renewing would prevent.
func TestReleaseThatIsLostIsCountedAsDone(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range []string{"reentrant-hash", "watchdog-timer", "redisson"} {
			a, b := join(t, s, name, "a"), join(t, s, name, "b")
			a.hold(t)
			a.LoseRequest("eval")
			wantErr(t, name+": release whose request is lost", a.lock.Release(t.Context()), impls.ErrUnknownOutcome)
			a.hold(t)
			wantErr(t, name+": release", a.lock.Release(t.Context()), nil)
			_, err := b.try(t)
			wantErr(t, name+": another's try", err, impls.ErrBusy)
			start := time.Now()
			if _, err := b.lock.Acquire(t.Context(), history.Exclusive); err != nil {
				t.Errorf("%s: another waits: %v", name, err)
			}
			if waited := time.Since(start); waited > lease {
				t.Errorf("%s: another waited %v, want at most the lease %v", name, waited, lease)
			}
			_ = b.lock.Release(t.Context())
		}
	})
}

func TestReleaseMayBeRepeatedWhileItsOutcomeIsUnknown(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range []string{"reentrant-hash", "watchdog-timer", "redisson"} {
			a := join(t, s, name, "a")
			a.hold(t)
			a.LoseRequest("eval")
			wantErr(t, name+": release whose request is lost", a.lock.Release(t.Context()), impls.ErrUnknownOutcome)
			wantErr(t, name+": release again", a.lock.Release(t.Context()), nil)
			wantErr(t, name+": and a third time", a.lock.Release(t.Context()), impls.ErrNotHeld)
		}
	})
}
