package quorum

import (
	"context"
	"math/bits"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestOneHolderAtATime(t *testing.T) {
	check := func(t *testing.T, servers []*redistest.Server) {
		a, b := join(t, servers, "a"), join(t, servers, "b")
		g := a.Hold(t)
		_, err := b.Ask(t)
		redistest.WantErr(t, "another's try", err, impls.ErrBusy)
		redistest.WantErr(t, "another's release", b.Release(t.Context()), impls.ErrNotHeld)
		redistest.WantErr(t, "release", a.Release(t.Context()), nil)
		redistest.WantErr(t, "release again", a.Release(t.Context()), impls.ErrNotHeld)
		second, err := b.Acquire(t.Context(), history.Exclusive)
		redistest.WantErr(t, "another's acquire", err, nil)
		if g.Token == "" || g.Token == second.Token {
			t.Errorf("tokens %q and %q", g.Token, second.Token)
		}
		_, err = b.Try(t.Context(), history.Shared)
		redistest.WantErr(t, "shared", err, impls.ErrUnsupported)
		redistest.WantErr(t, "another's own release", b.Release(t.Context()), nil)
	}
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { check(t, nodes(t, 5)) })
	})
	t.Run("real", func(t *testing.T) {
		check(t, []*redistest.Server{redistest.NewReal(t), redistest.NewReal(t), redistest.NewReal(t)})
	})
}

// TestEveryMask tries every subset of 1 to 5 nodes as locked by another client or down. The lock
// must be granted exactly if a majority is free, and a failed attempt must leave no key.
func TestEveryMask(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for mask := range uint(1) << n {
			for _, down := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { checkMask(t, n, mask, down) })
			}
		}
	}
}

func checkMask(t *testing.T, n int, mask uint, down bool) {
	t.Helper()
	servers := nodes(t, n)
	a := join(t, servers, "a")
	for i, s := range servers {
		switch {
		case mask>>i&1 == 0:
		case down:
			s.Live.Fail("LOADING the dataset")
		default:
			s.Live.Do("SET", a.In.Key, "somebody")
		}
	}
	_, err := a.Ask(t)
	free := n - bits.OnesCount(mask)
	if granted := err == nil; granted != (free >= n/2+1) {
		t.Errorf("%d nodes, mask %b, down %v: %v with %d left", n, mask, down, err, free)
	}
	want := impls.ErrBusy
	if down {
		want = impls.ErrUnavailable
	}
	if err != nil {
		redistest.WantErr(t, "refusal", err, want)
	} else {
		redistest.WantErr(t, "release", a.Release(t.Context()), nil)
	}
	redistest.WantErr(t, "close", a.Close(), nil)
	for i, there := range a.keys(t, servers) {
		if there != (mask>>i&1 == 1 && !down) {
			t.Errorf("%d nodes, mask %b, down %v: node %d has the key: %v", n, mask, down, i, there)
		}
	}
}

func TestValidity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := join(t, nodes(t, 5), "a")
		for _, c := range a.to {
			c.Before("\nset\r", func() { time.Sleep(20 * time.Millisecond) })
		}
		start := time.Now()
		g := a.Hold(t)
		if want := start.Add(lease - lease/100 - 2*time.Millisecond); !g.ValidUntil.Equal(want) {
			t.Errorf("valid for %v from the first request, want %v", g.ValidUntil.Sub(start), want.Sub(start))
		}
		time.Sleep(100 * time.Millisecond)
		start = time.Now()
		g, err := a.Extend(t.Context())
		redistest.WantErr(t, "extend", err, nil)
		if want := start.Add(lease - drift(lease)); !g.ValidUntil.Equal(want) {
			t.Errorf("extended for %v, want %v", g.ValidUntil.Sub(start), want.Sub(start))
		}
	})
}

// TestStalledBetweenRequestAndReply: every node granted, and the client reads the replies after the
// lease.
func TestStalledBetweenRequestAndReply(t *testing.T) {
	for _, row := range []struct {
		stall time.Duration
		want  error
	}{
		{lease - drift(lease) - time.Millisecond, nil},   // one millisecond of validity is left
		{lease - drift(lease), impls.ErrUnavailable},     // none
		{lease - time.Millisecond, impls.ErrUnavailable}, // the keys are still there, but within the drift
		{10 * lease, impls.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			servers := nodes(t, 5)
			clock := &stalling{by: row.stall}
			a := joinWith(t, servers, "a", func(e *impls.Env) { e.Clock = clock })
			_, err := a.Ask(t)
			redistest.WantErr(t, "stalled for "+row.stall.String(), err, row.want)
			synctest.Wait() // releases may be under way
			if left := slices.Contains(a.keys(t, servers), true); left != (row.want == nil) {
				t.Errorf("stalled for %v: keys left: %v", row.stall, left)
			}
		})
	}
}

// stalling is a clock on which a time passes between the first reading and the second.
type stalling struct {
	impls.SystemClock
	by    time.Duration
	reads int
}

func (s *stalling) Now() time.Time {
	s.reads++
	if s.reads == 1 {
		return time.Now()
	}
	return time.Now().Add(s.by)
}

func TestDoesNotWaitForAHungMinority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		a := join(t, servers, "a")
		hang := func(text string) {
			for _, c := range a.to[:2] {
				c.Before(text, func() { time.Sleep(lease / 2) })
			}
		}
		hang("\nset\r")
		start := time.Now()
		a.Hold(t)
		hang("eval")
		redistest.WantErr(t, "release", a.Release(t.Context()), nil)
		if took := time.Since(start); took != 0 {
			t.Errorf("acquire and release took %v, want no time", took)
		}
		redistest.WantErr(t, "close", a.Close(), nil)
		if slices.Contains(a.keys(t, servers), true) {
			t.Errorf("a node that answered after the release keeps the key: %v", a.keys(t, servers))
		}
	})
}

// TestLateGrantsAreWithdrawn: three nodes exceed their timeout, so the attempt fails and releases
// its token; then they execute the request after all.
func TestLateGrantsAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		a := join(t, servers, "a")
		for _, c := range a.to[:3] {
			c.Before("\nset\r", func() { time.Sleep(10 * time.Millisecond) })
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		_, err := a.Try(ctx, history.Exclusive)
		cancel()
		redistest.WantErr(t, "try past its deadline", err, impls.ErrCancelled)
		redistest.WantErr(t, "close", a.Close(), nil)
		if slices.Contains(a.keys(t, servers), true) {
			t.Errorf("keys left by a cancelled attempt: %v", a.keys(t, servers))
		}
	})
}

// TestARefusedTryLeavesNothingUnderWay: the requests to a free minority are slower than the
// refusals and the releases.
func TestARefusedTryLeavesNothingUnderWay(t *testing.T) {
	const slow = 5 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		b := join(t, servers, "b")
		for i, s := range servers {
			if i < 3 {
				s.Live.Do("SET", b.In.Key, "somebody")
			} else {
				b.to[i].Before("\nset\r", func() { time.Sleep(slow) })
			}
		}
		start := time.Now()
		_, err := b.Ask(t)
		redistest.WantErr(t, "try", err, impls.ErrBusy)
		if took := time.Since(start); took != slow {
			t.Errorf("refused after %v, want %v: when its last request had been answered", took, slow)
		}
		if left := b.keys(t, servers); left[3] || left[4] {
			t.Errorf("keys left: %v, want those of the first three nodes", left)
		}
	})
}

func TestExtendAndReleaseAfterTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		a, b := join(t, servers, "a"), join(t, servers, "b")
		_, err := a.Extend(t.Context())
		redistest.WantErr(t, "extend without a hold", err, impls.ErrNotHeld)
		a.Hold(t)
		time.Sleep(lease)
		b.Hold(t)
		_, err = a.Extend(t.Context())
		redistest.WantErr(t, "extend after the lease", err, impls.ErrLost)
		redistest.WantErr(t, "release of a lost hold", a.Release(t.Context()), impls.ErrNotHeld)
		_, err = join(t, servers, "c").Ask(t)
		redistest.WantErr(t, "a third client", err, impls.ErrBusy)
		redistest.WantErr(t, "the second's release", b.Release(t.Context()), nil)
		a.Hold(t)
		time.Sleep(lease)
		redistest.WantErr(t, "release after the lease", a.Release(t.Context()), impls.ErrLost)
	})
}

func TestReleaseWithoutAMajorityIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		a := join(t, servers, "a")
		a.Hold(t)
		synctest.Wait() // for nodes that the majority did not wait for
		redistest.WantErr(t, "first release, which makes the script known", a.Release(t.Context()), nil)
		synctest.Wait()
		a.Hold(t)
		synctest.Wait()
		for _, c := range a.to[:3] {
			c.LoseReply("eval")
		}
		redistest.WantErr(t, "release", a.Release(t.Context()), impls.ErrUnknownOutcome)
		_, err := a.Extend(t.Context())
		redistest.WantErr(t, "extend", err, impls.ErrLost) // the requests had arrived
	})
}

// TestQuorumErosion is how Redlock fails: two of five nodes are unreachable for the holder, and one
// of its other three loses its data (K4) or ends the lease early (K3).
func TestQuorumErosion(t *testing.T) {
	for name, erode := range map[string]func(s *redistest.Server){
		"restart without data": func(s *redistest.Server) { s.Live.Do("FLUSHALL") },
		"clock jump":           func(s *redistest.Server) { s.Live.Jump(2 * lease) },
	} {
		synctest.Test(t, func(t *testing.T) {
			servers := nodes(t, 5)
			a, b := join(t, servers, "a"), join(t, servers, "b")
			for _, c := range a.to[3:] {
				c.LoseRequest("\nset\r")
			}
			a.Hold(t)
			redistest.WantErr(t, name+": close", a.Close(), nil)
			_, err := b.Ask(t)
			redistest.WantErr(t, name+": another's try before", err, impls.ErrBusy)
			erode(servers[2])
			b.Hold(t)
		})
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := nodes(t, 5)
		a := join(t, servers, "a")
		b := joinWith(t, servers, "b", func(e *impls.Env) { e.MaxTries = 4; e.Poll = 10 * time.Millisecond })
		c := join(t, servers, "c")
		a.Hold(t)
		start := time.Now()
		_, err := b.Acquire(t.Context(), history.Exclusive)
		redistest.WantErr(t, "four tries", err, impls.ErrBusy)
		if took := time.Since(start); took < 15*time.Millisecond || took > 45*time.Millisecond {
			t.Errorf("four tries took %v, want three delays of 5 to 15ms", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = c.Acquire(ctx, history.Exclusive)
		cancel()
		redistest.WantErr(t, "acquire past its deadline", err, impls.ErrCancelled)
		_, err = c.Acquire(t.Context(), history.Exclusive)
		redistest.WantErr(t, "acquire until the lease ends", err, nil)
		if took := time.Since(start); took < lease {
			t.Errorf("granted after %v, inside another's lease", took)
		}
	})
}

func TestLeasesThatLeaveNothing(t *testing.T) {
	for _, d := range []time.Duration{0, -lease, time.Millisecond, 2 * time.Millisecond, 1500 * time.Microsecond} {
		if _, err := open(impls.Env{Lease: d}); err == nil {
			t.Errorf("lease %v was accepted", d)
		}
	}
}
