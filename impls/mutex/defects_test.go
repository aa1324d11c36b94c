package mutex

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// Each test shows one defect of the sources, at its step.

func TestExistsSetLetsTwoInBetweenItsCommands(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "exists-set", "a"), join(t, s, "exists-set", "b")
		a.Before("\nset\r", func() { b.Hold(t) })
		a.Hold(t)
	})
}

func TestLuaNilIsNeverGranted(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "lua-nil", "a")
		_, err := a.Ask(t)
		redistest.WantErr(t, "try of a free lock", err, impls.ErrBusy)
		if n := a.Redis.Exists(t.Context(), a.In.Key).Val(); n != 0 {
			t.Errorf("the key was written")
		}
	})
}

func TestCrashBetweenSetnxAndExpire(t *testing.T) {
	for _, row := range []struct {
		name string
		free time.Duration // when another client is granted; 0: never
	}{
		{"setnx-expire", 0},
		// The deadline in the value must be past: one millisecond more.
		{"getset-timestamp", lease + clockTolerance + time.Millisecond},
	} {
		redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
			a, b := join(t, s, row.name, "a"), join(t, s, row.name, "b")
			a.LoseRequest("pexpire")
			_, err := a.Ask(t)
			redistest.WantErr(t, row.name+": acquire that dies in the middle", err, impls.ErrUnknownOutcome)
			var waited time.Duration
			for ; waited < time.Minute; waited += time.Millisecond {
				if _, err := b.Ask(t); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if row.free == 0 {
				row.free = time.Minute
			}
			if waited != row.free {
				t.Errorf("%s: another client was granted after %v, want %v", row.name, waited, row.free)
			}
		})
	}
}

func TestGetsetTimestampTrustsTheClientsClock(t *testing.T) {
	for _, row := range []struct {
		ahead time.Duration
		stole bool
	}{
		{lease + clockTolerance, false},                   // exactly what the tolerance covers
		{lease + clockTolerance + time.Millisecond, true}, // and a millisecond more
	} {
		redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
			join(t, s, "getset-timestamp", "a").Hold(t)
			c := s.Client(t)
			env := c.Env(t, "b", lease)
			env.Clock = skewed{ahead: row.ahead}
			_, err := open(t, c, "getset-timestamp", env).Ask(t)
			if stole := err == nil; stole != row.stole {
				t.Errorf("a client %v ahead: %v, want the held lock granted: %v", row.ahead, err, row.stole)
			}
		})
	}
}

// skewed is a clock that is ahead.
type skewed struct {
	impls.SystemClock
	ahead time.Duration
}

func (s skewed) Now() time.Time { return time.Now().Add(s.ahead) }

func TestGetsetLoserMovesTheWinnersDeadline(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "getset-timestamp", "a"), join(t, s, "getset-timestamp", "b")
		past := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
		a.Redis.Set(t.Context(), a.In.Key, past, 0)
		b.Before("getset", func() { a.Hold(t); time.Sleep(100 * time.Millisecond) })
		before := time.Now()
		_, err := b.Ask(t)
		redistest.WantErr(t, "the second client", err, impls.ErrBusy)
		want := strconv.FormatInt(before.Add(lease+clockTolerance).UnixMilli(), 10)
		if got := b.Redis.Get(t.Context(), b.In.Key).Val(); got != want {
			t.Errorf("the key holds %s, want the loser's deadline %s", got, want)
		}
	})
}

func TestTokenGetDelBetweenItsCommands(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b, c := join(t, s, "token-get-del", "a"), join(t, s, "token-get-del", "b"), join(t, s, "token-get-del", "c")
		a.Hold(t)
		a.Before("\ndel\r", func() { time.Sleep(lease); b.Hold(t) })
		redistest.WantErr(t, "release", a.Release(t.Context()), nil)
		c.Hold(t) // while b believes it holds
	})
}

func TestTokenReleaseMayBeRepeatedWhileItsOutcomeIsUnknown(t *testing.T) {
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "token", "a")
		a.Hold(t)
		a.LoseRequest("eval")
		redistest.WantErr(t, "release whose request is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
		redistest.WantErr(t, "release again", a.Release(t.Context()), nil)
	})
}

func TestTokenExtend(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "token", "a"), join(t, s, "token", "b")
		a.Hold(t)
		time.Sleep(lease / 2)
		g, err := a.Extend(t.Context())
		redistest.WantErr(t, "extend at half the lease", err, nil)
		if want := time.Now().Add(lease); !g.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v", g.ValidUntil, want)
		}
		time.Sleep(lease - time.Millisecond)
		_, err = b.Ask(t)
		redistest.WantErr(t, "another's try one millisecond before the new end", err, impls.ErrBusy)
		time.Sleep(time.Millisecond)
		_, err = a.Extend(t.Context())
		redistest.WantErr(t, "extend after the end", err, impls.ErrLost)
		if n := a.Redis.Exists(t.Context(), a.In.Key).Val(); n != 0 {
			t.Errorf("extend created the lost key")
		}
		_, err = a.Extend(t.Context())
		redistest.WantErr(t, "extend of a lost hold", err, impls.ErrNotHeld)
	})
}

func TestTokenValidityNeverOutlivesTheKey(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "token", "a")
		a.Before("\nset\r", func() { time.Sleep(50 * time.Millisecond) }) // a slow request
		sent := time.Now()
		if g := a.Hold(t); !g.ValidUntil.Equal(sent.Add(lease)) {
			t.Errorf("valid until %v after the call, want the lease %v", g.ValidUntil.Sub(sent), lease)
		}
	})
}

func TestSessionFlag(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "token-session", "a"), join(t, s, "token-session", "b")
		sent := a.Record()
		a.Hold(t)
		sent.Take()
		_, err := a.Ask(t)
		redistest.WantErr(t, "locking twice", err, impls.ErrBusy)
		if lines := sent.Take(); len(lines) != 0 {
			t.Errorf("locking twice sent a request: %q", lines)
		}
		a.LoseRequest("eval")
		redistest.WantErr(t, "release whose request is lost", a.Release(t.Context()), impls.ErrUnknownOutcome)
		redistest.WantErr(t, "release again", a.Release(t.Context()), impls.ErrNotHeld)
		_, err = b.Ask(t)
		redistest.WantErr(t, "another's try: the key is orphaned", err, impls.ErrBusy)
		time.Sleep(lease)
		b.Hold(t)
	})
}
