package reentrant

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// watched lists the variants with a working watchdog.
var watched = []string{"watchdog-timer", "redisson"}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWatchdogHoldsForTenLeasesAndStops(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range watched {
			a, b := join(t, s, name, "a"), join(t, s, name, "b")
			g := a.Hold(t)
			a.Hold(t) // entering again arms no second watchdog
			start := time.Now()
			time.Sleep(10*lease + time.Millisecond)
			_, err := b.Ask(t)
			redistest.WantErr(t, name+": another's try after ten leases", err, impls.ErrBusy)
			list := a.seen.take()
			if len(list) != 10*renewalsPerLease {
				t.Errorf("%s: %d renewals in ten leases, want %d", name, len(list), 10*renewalsPerLease)
			}
			for i, r := range list {
				at := start.Add(time.Duration(i+1) * lease / renewalsPerLease)
				if r.Err != nil || !r.Call.Equal(at) || !r.ValidUntil.Equal(at.Add(lease)) {
					t.Fatalf("%s: renewal %d at %v until %v: %v; want it at %v, valid for a lease", name, i+1, r.Call, r.ValidUntil, r.Err, at)
				}
			}
			redistest.WantErr(t, name+": inner release", a.Release(t.Context()), nil)
			time.Sleep(lease)
			if n := len(a.seen.take()); n != renewalsPerLease {
				t.Errorf("%s: %d renewals in a lease after the inner release, want %d", name, n, renewalsPerLease)
			}
			redistest.WantErr(t, name+": release", a.Release(t.Context()), nil)
			b.Hold(t)
			time.Sleep(lease)
			if list := a.seen.take(); len(list) != 0 {
				t.Errorf("%s: renewals after the release: %v", name, list)
			}
			if closed(g.Lost) {
				t.Errorf("%s: a lock that was released was reported lost", name)
			}
			_ = b.Release(t.Context())
		}
	})
}

// A hold after a loss has a watchdog of its own.
func TestAHoldAfterALossIsRenewed(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		for _, name := range watched {
			a := join(t, s, name, "a")
			g := a.Hold(t)
			a.Redis.Del(t.Context(), a.In.Key)
			<-g.Lost
			synctest.Wait()
			a.seen.take()
			again := a.Hold(t)
			time.Sleep(2*lease + time.Millisecond)
			if closed(again.Lost) || len(a.seen.take()) != 2*renewalsPerLease {
				t.Errorf("%s: the hold after a loss is not renewed", name)
			}
			redistest.WantErr(t, name+": release", a.Release(t.Context()), nil)
		}
	})
}

func TestBoundedWatchdogRenewsWhenTheLeaseIsOver(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "watchdog-bounded", "a"), join(t, s, "watchdog-bounded", "b")
		a.Hold(t)
		synctest.Wait()
		if list := a.seen.take(); len(list) != 1 || list[0].Err != nil {
			t.Fatalf("renewals at once: %v, want one", list)
		}
		time.Sleep(lease - time.Millisecond)
		_, err := b.Ask(t)
		redistest.WantErr(t, "another's try a millisecond before the lease ends", err, impls.ErrBusy)
		// In virtual time the request takes no time, so the end of the lease and the renewal fall
		// together and the server must look at the key to notice; on the wire the renewal is a
		// round trip late.
		a.Before("eval", func() { time.Sleep(time.Millisecond) })
		time.Sleep(3 * time.Millisecond)
		if list := a.seen.take(); len(list) != 1 || !errors.Is(list[0].Err, impls.ErrLost) {
			t.Errorf("renewals after one lease: %v, want one that found the lock lost", list)
		}
		b.Hold(t)
		redistest.WantErr(t, "the first holder's release, which succeeds", a.Release(t.Context()), nil)
	})
}

func TestBoundedWatchdogStopsAfterFour(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a := join(t, s, "watchdog-bounded", "a")
		a.Hold(t)
		for range 2 * maxRenewals {
			synctest.Wait()
			// keeps the key alive, so that only the count ends the renewals
			a.Redis.PExpire(t.Context(), a.In.Key, 10*lease)
			time.Sleep(lease)
		}
		if n := len(a.seen.take()); n != maxRenewals {
			t.Errorf("%d renewals, want %d", n, maxRenewals)
		}
	})
}

func TestUnlockingOneKeyStopsRenewingTheOthers(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		c := s.Client(t)
		env := c.Env(t, "a", lease)
		env.Shared = &impls.Shared{}
		one := open(t, c, "watchdog-bounded", env)
		env.Key += ":other"
		other := open(t, c, "watchdog-bounded", env)
		one.Hold(t)
		other.Hold(t)
		synctest.Wait()
		other.seen.take()
		redistest.WantErr(t, "unlock of the one key", one.Release(t.Context()), nil)
		time.Sleep(3 * lease)
		if list := other.seen.take(); len(list) != 0 {
			t.Errorf("the other key was renewed: %v; want no renewal", list)
		}
	})
}
