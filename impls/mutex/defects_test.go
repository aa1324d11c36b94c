package mutex

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// Each test shows a defect of a source, at its step and with its figures. That the others are there the
// conformance kit sees: see exceptions.

// A client that crashes between SETNX and EXPIRE leaves a key whose deadline must be past: one
// millisecond more.
func TestGetsetTimestampFreesAKeyWithoutALease(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "getset-timestamp", "a"), join(t, s, "getset-timestamp", "b")
		a.LoseRequest("pexpire")
		_, err := a.Ask(t)
		redistest.WantErr(t, "acquire that dies in the middle", err, impls.ErrUnknownOutcome)
		begin := time.Now()
		_, err = b.Acquire(t.Context(), history.Exclusive) // asks every millisecond
		if waited, want := time.Since(begin), lease+clockTolerance+time.Millisecond; err != nil || waited != want {
			t.Errorf("another client was granted after %v, want %v; %v", waited, want, err)
		}
	})
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

// The validity of a restarted lease counts from the extend.
func TestTokenExtend(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "token", "a")
		a.Hold(t)
		time.Sleep(lease / 2)
		g, err := a.Extend(t.Context())
		if want := time.Now().Add(lease); err != nil || !g.ValidUntil.Equal(want) {
			t.Errorf("valid until %v, want %v; %v", g.ValidUntil, want, err)
		}
	})
}

func TestSessionRefusesLocally(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "token-session", "a")
		a.Hold(t)
		sent := a.Record()
		_, err := a.Ask(t)
		redistest.WantErr(t, "locking twice", err, impls.ErrBusy)
		if lines := sent.Take(); len(lines) != 0 {
			t.Errorf("locking twice sent a request: %q", lines)
		}
	})
}
