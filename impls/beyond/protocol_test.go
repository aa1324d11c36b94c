package beyond

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// An acquire that meets nobody, and a release, are one request each.
func TestOneRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a := join(t, s, v.Name, "a")
		a.Asks(t, "the scripts are known from here on", write, nil)
		a.Leaves(t, "release", nil)
		sent := a.Record()
		if _, err := a.Acquire(t.Context(), write); err != nil {
			t.Fatal(err)
		}
		a.Leaves(t, "release", nil)
		if lines := sent.Take(); len(lines) != 2 {
			t.Errorf("%d requests, want 2: %q", len(lines), lines)
		}
	})
}

// When nothing can be published, a third of the lease is all that is lost.
func TestALostWakeupCostsAThirdOfTheLease(t *testing.T) {
	eachVirtual(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
		a.Asks(t, "holder", write, nil)
		got := b.Waits(t.Context(), write)
		time.Sleep(lease / 2)
		synctest.Wait()
		for _, k := range slices.Sorted(maps.Keys(s.Live.Left())) { // an operator deletes the holder, which publishes nothing
			if !strings.Contains(k, queueKey) && !strings.Contains(k, placesKey) {
				s.Live.Do("DEL", k)
			}
		}
		lost := time.Now()
		o := <-got
		redistest.WantErr(t, "waiter", o.Err, nil)
		if wait := o.At.Sub(lost); wait > lease/3 {
			t.Errorf("waited %v, want at most %v", wait, lease/3)
		}
	})
}

// A writer that waits for a reader is woken by its release.
func TestAReadersReleaseWakesAWriter(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "rw-lease", "a"), join(t, s, "rw-lease", "b")
		a.Asks(t, "reader", read, nil)
		got := b.Waits(t.Context(), write)
		time.Sleep(lease / 10)
		synctest.Wait()
		left := time.Now()
		a.Leaves(t, "reader", nil)
		o := <-got
		redistest.WantErr(t, "writer", o.Err, nil)
		if wait := o.At.Sub(left); wait > 0 {
			t.Errorf("waited for %v after the release", wait)
		}
	})
}

// A reply that is lost is asked for again under the same token.
func TestALostReplyIsAskedForAgain(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
		a.Asks(t, "the scripts are known from here on", write, nil)
		for _, lose := range []func(string){a.LoseReply, a.LoseRequest} {
			lose("eval")
			a.Leaves(t, "release whose reply is lost", nil)
			lose("eval")
			a.Asks(t, "acquire whose reply is lost", write, nil)
			lose("eval")
			if _, err := a.Extend(t.Context()); err != nil {
				t.Errorf("extend whose reply is lost: %v", err)
			}
			b.Asks(t, "the hold is there", write, impls.ErrBusy)
		}
		a.Leaves(t, "release", nil)
		b.Asks(t, "once and no more: the lock is free", write, nil)
	})
}

// When the second reply is lost too the outcome is unknown, and nothing is left of it.
func TestTwoLostRepliesAreUnknown(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
		a.LoseReply("eval")
		a.LoseReply("eval")
		a.Asks(t, "acquire", write, impls.ErrUnknownOutcome)
		b.Asks(t, "the token was withdrawn", write, nil)
		b.LoseReply("eval")
		b.LoseReply("eval")
		b.Leaves(t, "release", impls.ErrUnknownOutcome)
		b.Leaves(t, "release again: the first one took effect, so nothing was lost", nil)
	})
}

// A busy answer to the second asking does not settle the first.
func TestBusyAfterALostReplyIsUnknown(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a, b := join(t, s, v.Name, "a"), join(t, s, v.Name, "b")
		a.Asks(t, "holder", write, nil)
		b.LoseReply("eval")
		g, err := b.Try(t.Context(), write)
		redistest.WantErr(t, "try", err, impls.ErrUnknownOutcome)
		if errors.Is(err, impls.ErrBusy) || g.Token != "" {
			t.Errorf("%+v, %v: says more than is known", g, err)
		}
		a.Leaves(t, "holder", nil)
	})
}

// stall is a clock that a test can make stand still: the client sleeps through the lease between
// sending and reading.
func TestAReplyAfterTheLeaseIsNoGrant(t *testing.T) {
	eachVirtual(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		late := &lateClock{}
		a := joinWith(t, s, v.Name, "a", func(e *impls.Env) { e.Clock = late })
		late.add = lease
		a.Asks(t, "try whose reply comes a lease later", write, impls.ErrUnavailable)
		late.add = lease
		g, err := a.Acquire(t.Context(), write)
		if err != nil || !late.Now().Before(g.ValidUntil) {
			t.Errorf("acquire: %+v, %v; want a grant that is still good", g, err)
		}
		a.Leaves(t, "release", nil)
	})
}

// lateClock jumps ahead by add after it was read once.
type lateClock struct{ ahead, add time.Duration }

func (c *lateClock) Now() time.Time {
	now := time.Now().Add(c.ahead)
	c.ahead, c.add = c.ahead+c.add, 0
	return now
}

func (c *lateClock) Sleep(ctx context.Context, d time.Duration) error {
	return impls.SystemClock{}.Sleep(ctx, d)
}

// An extend whose reply arrives after the validity that it set has ended must not return ok, nor
// say that it had no effect.
func TestAnExtendThatComesTooLateIsNone(t *testing.T) {
	eachVirtual(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a := join(t, s, v.Name, "a")
		a.Asks(t, "the lock is free", write, nil)
		// within the lease, and after the validity
		a.Before("evalsha", func() { time.Sleep(lease - 2*time.Millisecond) })
		_, err := a.Extend(t.Context())
		redistest.WantErr(t, "extend answered two milliseconds before the end of the lease", err, impls.ErrUnknownOutcome)
		a.Leaves(t, "the hold is still there", nil)
	})
}
