package mutex

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestOneHolderAtATime(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
			a.Hold(t)
			_, err := b.Ask(t)
			redistest.WantErr(t, v.Name+": second client's try", err, impls.ErrBusy)
			redistest.WantErr(t, v.Name+": second client's release", b.Release(t.Context()), impls.ErrNotHeld)
			redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
			redistest.WantErr(t, v.Name+": release again", a.Release(t.Context()), impls.ErrNotHeld)
			b.Hold(t)
			redistest.WantErr(t, v.Name+": second client's own release", b.Release(t.Context()), nil)
		}
	})
}

func TestTraitsAreTrue(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			a := join(t, s, v.Name, "a")
			first := a.Hold(t)
			_, extendErr := a.Extend(t.Context())
			if got := extendErr == nil; got != v.Traits.Extends {
				t.Errorf("%s: extend: %v, but Traits.Extends is %v", v.Name, extendErr, v.Traits.Extends)
			}
			if !v.Traits.Extends {
				redistest.WantErr(t, v.Name+": extend", extendErr, impls.ErrUnsupported)
			}
			if got := !first.ValidUntil.IsZero(); got != v.Traits.Validity {
				t.Errorf("%s: ValidUntil %v, but Traits.Validity is %v", v.Name, first.ValidUntil, v.Traits.Validity)
			}
			redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
			second := a.Hold(t)
			if got := first.Token != "" && first.Token != second.Token; got != v.Traits.UniqueToken {
				t.Errorf("%s: tokens %q and %q, but Traits.UniqueToken is %v", v.Name, first.Token, second.Token, v.Traits.UniqueToken)
			}
			_, err := a.Try(t.Context(), history.Shared)
			redistest.WantErr(t, v.Name+": shared", err, impls.ErrUnsupported)
			redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
		}
	})
}

func TestLeaseEndsAHold(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
			a.Hold(t)
			time.Sleep(lease - time.Millisecond)
			_, err := b.Ask(t)
			redistest.WantErr(t, v.Name+": try one millisecond before the lease ends", err, impls.ErrBusy)
			time.Sleep(time.Millisecond)
			_, err = b.Ask(t)
			if v.Traits.NoLease {
				redistest.WantErr(t, v.Name+": try after any time", err, impls.ErrBusy)
			} else {
				redistest.WantErr(t, v.Name+": try when the lease has ended", err, nil)
			}
			s.Mini.FlushAll()
		}
	})
}

func TestReleaseAfterTheLease(t *testing.T) {
	// token-session drops the script's answer, so it does not notice.
	silent := map[string]bool{"token-session": true}
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			if v.Traits.NoLease {
				continue
			}
			a := join(t, s, v.Name, "a")
			a.Hold(t)
			time.Sleep(lease)
			var want error = impls.ErrLost
			if silent[v.Name] {
				want = nil
			}
			redistest.WantErr(t, v.Name+": release after the lease", a.Release(t.Context()), want)
			redistest.WantErr(t, v.Name+": and once more", a.Release(t.Context()), impls.ErrNotHeld)
		}
	})
}

// TestLateRelease is the mis-unlock of the sources: a's lease ends, b is granted, a releases.
func TestLateRelease(t *testing.T) {
	blind := map[string]bool{"setnx-expire": true, "getset-timestamp": true, "lua-setnx-expire": true, "set-nx-ex": true}
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			if v.Traits.NoLease {
				continue
			}
			a, b, c := join(t, s, v.Name, "a"), join(t, s, v.Name, "b"), join(t, s, v.Name, "c")
			a.Hold(t)
			time.Sleep(lease)
			b.Hold(t)
			_ = a.Release(t.Context())
			_, err := c.Ask(t)
			if freed := err == nil; freed != blind[v.Name] {
				t.Errorf("%s: after a's late release c's try gives %v; want b's hold ended: %v", v.Name, err, blind[v.Name])
			}
			s.Mini.FlushAll()
		}
	})
}

// writes is the text of the request with which each variant takes the lock.
var writes = map[string]string{
	"exists-set": "\nset\r", "setnx": "setnx", "setnx-expire": "setnx", "getset-timestamp": "setnx", "lua-nil": "eval",
	"lua-setnx-expire": "eval", "set-nx-ex": "set", "token-get-del": "set", "token": "set", "token-session": "eval",
}

func TestLostReplyIsUnknownNeverBusy(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a := join(t, s, v.Name, "a")
			if _, err := a.Ask(t); err == nil { // the script is known from here on
				redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
			}
			a.LoseReply(writes[v.Name])
			_, err := a.Acquire(t.Context(), history.Exclusive)
			redistest.WantErr(t, v.Name+": acquire whose reply is lost", err, impls.ErrUnknownOutcome)
			if errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrUnavailable) {
				t.Errorf("%s: acquire whose reply is lost says more than it knows: %v", v.Name, err)
			}
			left := a.Redis.Exists(t.Context(), a.In.Key).Val() == 1
			if left != (v.Name != "lua-nil") {
				t.Errorf("%s: key left behind: %v", v.Name, left)
			}
			a.Redis.Del(t.Context(), a.In.Key)
		}
	})
}

func TestLostReleaseReplyIsUnknown(t *testing.T) {
	release := map[string]string{"token-get-del": "\nget\r", "token": "eval", "token-session": "eval"}
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			text := release[v.Name]
			if text == "" {
				text = "\ndel\r"
			}
			a := join(t, s, v.Name, "a")
			a.Hold(t)
			a.LoseReply(text)
			redistest.WantErr(t, v.Name+": release whose reply is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
			a.Redis.Del(t.Context(), a.In.Key)
		}
	})
}

func TestWaiting(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			if v.Name != "lua-nil" {
				join(t, s, v.Name, "a").Hold(t)
			}
			c := s.Client(t)
			env := c.Env(t, "b", lease)
			env.Poll, env.MaxTries = 10*time.Millisecond, 5
			b := open(t, c, v.Name, env)
			start := time.Now()
			_, err := b.Acquire(t.Context(), history.Exclusive)
			redistest.WantErr(t, v.Name+": acquire with five tries", err, impls.ErrBusy)
			if waited := time.Since(start); waited != 40*time.Millisecond {
				t.Errorf("%s: five tries took %v, want four intervals of 10ms", v.Name, waited)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
			_, err = b.Acquire(ctx, history.Exclusive)
			cancel()
			redistest.WantErr(t, v.Name+": acquire past its deadline", err, impls.ErrCancelled)
			s.Mini.FlushAll()
		}
	})
}

func TestWaiterGetsTheLockOfADeadHolder(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range granted() {
			if v.Traits.NoLease {
				continue
			}
			join(t, s, v.Name, "a").Hold(t)
			start := time.Now()
			if _, err := join(t, s, v.Name, "b").Acquire(t.Context(), history.Exclusive); err != nil {
				t.Errorf("%s: acquire behind a dead holder: %v", v.Name, err)
			}
			if waited := time.Since(start); waited != lease {
				t.Errorf("%s: waited %v, want the lease %v", v.Name, waited, lease)
			}
			s.Mini.FlushAll()
		}
	})
}

func TestLeasesThatRedisCannotKeep(t *testing.T) {
	for _, v := range Variants() {
		for _, d := range []time.Duration{0, -time.Second, time.Microsecond, 1500 * time.Microsecond} {
			_, err := v.New(impls.Env{Key: "k", Lease: d, Rand: nil, Clock: impls.SystemClock{}})
			if refused := err != nil; refused == v.Traits.NoLease {
				t.Errorf("%s: lease %v: error %v, want one: %v", v.Name, d, err, !v.Traits.NoLease)
			}
		}
	}
}
