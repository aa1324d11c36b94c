package servers_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// offset returns a server clock's offset from ours, to about a round trip.
func offset(t *testing.T, d servers.Deployment, node int) time.Duration {
	t.Helper()
	shown, err := client(t, d, node).Time(t.Context()).Result()
	must(t, err)
	return time.Until(shown)
}

// moved returns the instant from which a clock's setting counts.
func moved(t *testing.T) func(time.Time, error) time.Time {
	return func(at time.Time, err error) time.Time {
		t.Helper()
		must(t, err)
		return at
	}
}

// failed returns why a clock was not set.
func failed(_ time.Time, err error) error { return err }

func near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if (got - want).Abs() > 250*time.Millisecond {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// A clock that jumps forward expires leases at once; one that jumps back lengthens them. Only the
// named node is affected, and the offset survives a restart, as a machine's would.
func TestClockJump(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, servers.Spec{Topology: impls.Independent, Nodes: 2, ClockFaults: true}), t.Context()
		near(t, "before", offset(t, d, 0), 0)
		set(t, d, 0, "lease", 5*time.Second)
		set(t, d, 1, "lease", 5*time.Second)
		moved(t)(d.JumpClock(ctx, 0, 10*time.Second))
		near(t, "after a jump forward", offset(t, d, 0), 10*time.Second)
		if has(t, d, 0, "lease") || !has(t, d, 1, "lease") {
			t.Error("the lease must end on node 0 only")
		}
		set(t, d, 0, "lease", 5*time.Second)
		moved(t)(d.JumpClock(ctx, 0, -time.Hour-10*time.Second))
		near(t, "after a jump back", offset(t, d, 0), -time.Hour)
		ttl, err := client(t, d, 0).PTTL(ctx, "lease").Result()
		must(t, err)
		near(t, "lease after a jump back", ttl, time.Hour+15*time.Second)

		must(t, d.Kill(ctx, 0))
		wantErr(t, "clock of a dead node", failed(d.JumpClock(ctx, 0, 0)), servers.ErrState)
		must(t, d.Restart(ctx, 0))
		near(t, "after a restart", offset(t, d, 0), -time.Hour)
		was, _, err := d.SetClockRight(ctx, 0)
		must(t, err)
		near(t, "when it was set right", was, -time.Hour)
		near(t, "set right", offset(t, d, 0), 0)
	})
}

// A clock at ten times the rate gains nine seconds a second and does not jump.
func TestClockDrift(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, servers.Spec{ClockFaults: true}), t.Context()
		moved(t)(d.JumpClock(ctx, 0, time.Minute))
		from := moved(t)(d.DriftClock(ctx, 0, 10))
		shows := func(at time.Time) time.Time { return at.Round(0).Add(time.Minute + 9*at.Sub(from)) }
		before := time.Now()
		now, err := client(t, d, 0).Time(ctx).Result()
		must(t, err)
		if low, high := shows(before).Add(-time.Millisecond), shows(time.Now()).Add(time.Millisecond); now.Before(low) || now.After(high) {
			t.Errorf("the clock shows %v, want %v to %v: the rate counts from the returned instant", now, low, high)
		}
		begin := time.Now()
		set(t, d, 0, "lease", 2*time.Second)
		eventually(t, "the lease of 2s ends", func() bool { return !has(t, d, 0, "lease") })
		lasted := time.Since(begin)
		if lasted < 150*time.Millisecond || lasted > time.Second {
			t.Errorf("a lease of 2s on a tenfold clock lasted %s, want about 200ms", lasted)
		}
		moved(t)(d.JumpClock(ctx, 0, -time.Minute))
		was, shown := offset(t, d, 0), time.Now()
		eventually(t, "a jump leaves the rate", func() bool { return offset(t, d, 0)-was > 5*time.Since(shown) })
		for _, rate := range []float64{0, -1, math.Inf(1), math.NaN()} {
			if failed(d.DriftClock(ctx, 0, rate)) == nil {
				t.Errorf("rate %v was accepted", rate)
			}
		}
	})
}

// The clock of the server's event loop stays true. Otherwise its timer of 100 ms, which notices the
// end of a background save, would take ten seconds at a rate of 0.01.
func TestClockOfTheEventLoopIsTrue(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d, ctx := start(t, p, servers.Spec{ClockFaults: true}), t.Context()
		moved(t)(d.DriftClock(ctx, 0, 0.01))
		c, begin := client(t, d, 0), time.Now()
		must(t, c.BgSave(ctx).Err())
		eventually(t, "the save is noticed", func() bool {
			return strings.Contains(c.Info(ctx, "persistence").Val(), "rdb_bgsave_in_progress:0")
		})
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("a timer of 100ms took %s", took)
		}
	})
}
