package quorum

import (
	"math/bits"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

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

func TestLeasesThatLeaveNothing(t *testing.T) {
	for _, d := range []time.Duration{0, -lease, time.Millisecond, 2 * time.Millisecond, 1500 * time.Microsecond} {
		if _, err := open(impls.Env{Lease: d}); err == nil {
			t.Errorf("lease %v was accepted", d)
		}
	}
}
