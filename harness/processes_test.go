package harness

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// shortest is a lease long enough that a busy machine does not make a client outlive it.
const shortest = time.Second

// cells runs locks in scenarios on servers of a provider and compares each cell with what the
// catalogue expects, as a suite does. Leases have at least the length of shortest. Scenarios may be
// given other settings.
func cells(t *testing.T, p servers.Provider, as ClientsAs, side int, settings, rows map[string][]string) {
	t.Helper()
	for lock, names := range rows {
		var all []scenarios.Scenario
		for _, name := range names {
			s, err := scenarios.Load(name)
			if err == nil {
				s, err = s.With(settings[name])
			}
			if err == nil && s.Lease.Fixed < shortest {
				s, err = s.With([]string{"lease=" + shortest.String()})
			}
			must(t, err)
			all = append(all, s)
		}
		asExpected(t, p, as, side, lock, all)
	}
}

// asExpected runs a lock in scenarios, each on its own servers.
func asExpected(t *testing.T, p servers.Provider, as ClientsAs, side int, lock string, all []scenarios.Scenario) {
	t.Helper()
	v, ok := catalogue.Find(lock)
	if !ok {
		t.Fatalf("no lock %s", lock)
	}
	t.Run(lock, func(t *testing.T) {
		t.Parallel()
		runs := atomic.Int64{}
		out, err := Suite(t.Context(), SuiteConfig{Variants: []impls.Variant{v}, Scenarios: all, Side: side, Now: time.Now,
			Run: func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (*Outcome, error) {
				runs.Add(1)
				return Run(ctx, Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: p, Seed: 1, As: as,
					Now: time.Now, Random: rand.Reader})
			}})
		must(t, err)
		t.Logf("%d runs for %d cells", runs.Load(), len(out.Cells))
		if len(out.Cells) != len(all) {
			t.Errorf("%d cells: the catalogue expects something of only so many of %d scenarios", len(out.Cells), len(all))
		}
		for _, c := range out.Cells {
			if c.Verdict != checker.Pass {
				t.Errorf("%s: %s: %s; expected %s, observed %s", c.Scenario, c.Verdict, c.Why, c.Expected, c.Observed)
			}
		}
	})
}

// A real Redis shows of the first locks of the sources what the catalogue expects, whatever kind the
// clients and the servers are.
func TestVerdictsOnRealServers(t *testing.T) {
	t.Parallel()
	for name, world := range map[string]struct {
		server string
		as     ClientsAs
	}{"goroutines": {"process", Goroutines}, "processes": {"process", Processes}, "containers": {"docker", Goroutines}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, world.server)
			for lock, names := range map[string][]string{
				"token":        {"steady", "pause-holder"},
				"set-nx-ex":    {"pause-holder"},
				"exists-set":   {"contended"},
				"setnx":        {"crash-holder", "pause-holder"},
				"setnx-expire": {"crash-mid-acquire"},
				"lua-nil":      {"steady"},
			} {
				var all []scenarios.Scenario
				for _, name := range names {
					s, err := scenarios.Load(name)
					must(t, err)
					if lock == "lua-nil" {
						s.Ops = 2 // each waits in vain for two seconds
					}
					all = append(all, s)
				}
				asExpected(t, p, world.as, 2, lock, all)
			}
		})
	}
}

// Faults of the network and of servers affect clients in other processes at the same places as
// goroutines: every scenario ends with the verdict that the catalogue expects.
func TestClientProcessesMeetNetworkAndServerFaults(t *testing.T) {
	t.Parallel()
	cells(t, provider(t, "process"), Processes, 2, nil, map[string][]string{
		"token": {"lost-request", "lost-reply-release", "slow-network", "blackhole-client", "kill-server", "failover", "clock-jump",
			"key-deleted", "eviction"},
		"set-nx-ex": {"lost-reply-acquire", "restart-delayed"},
		"redisson":  {"pubsub-cut", "pause-server", "script-flush"},
		"redlock":   {"partition-minority", "lost-request"},
		// A child's clock is off as its client's is.
		"bug-client-clock": {"client-clock-skew"},
	})
}

// Faults of servers affect containers as they do processes. Killing and starting a container takes
// a good part of a second, and several on a machine that does much else: the section during which
// that happens is longer.
func TestContainersMeetServerFaults(t *testing.T) {
	t.Parallel()
	longer := map[string][]string{"kill-server": {"think=6s", "lease=12s", "duration=8s", "wait=20s"}}
	cells(t, provider(t, "docker"), Goroutines, 2, longer, map[string][]string{
		"token":     {"kill-server", "failover", "clock-jump"},
		"set-nx-ex": {"pause-server", "key-deleted", "eviction"},
		"redlock":   {"partition-minority"},
	})
}
