package harness

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// shortest is a lease long enough that a busy machine does not make a client outlive it.
const shortest = time.Second

// cells runs locks in scenarios on servers of a provider and compares each cell with what the catalogue expects, as a suite does. Leases have at
// least the length of shortest. Scenarios may be given other settings.
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
			if err != nil {
				t.Fatal(err)
			}
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
			Cell: func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (results.Result, string, error) {
				runs.Add(1)
				o, err := Run(ctx, Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: p, Seed: 1, As: as,
					Now: time.Now, Random: rand.Reader})
				if err != nil {
					return results.Result{}, "", err
				}
				return o.Result, o.Dir, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d runs for %d cells", runs.Load(), len(out.Cells))
		for _, c := range out.Cells {
			if c.Verdict != checker.Pass {
				t.Errorf("%s: %s: %s; expected %s, observed %s", c.Scenario, c.Verdict, c.Why, c.Expected, c.Observed)
			}
		}
	})
}

// Faults of the network and of servers affect clients in other processes at the same places as goroutines: every scenario ends with the verdict
// that the catalogue expects.
func TestClientProcessesMeetNetworkAndServerFaults(t *testing.T) {
	t.Parallel()
	cells(t, provider(t, "process"), Processes, 2, nil, map[string][]string{
		"token": {"lost-request", "lost-reply-release", "slow-network", "blackhole-client", "kill-server", "failover", "clock-jump",
			"key-deleted", "eviction"},
		"set-nx-ex": {"lost-reply-acquire", "restart-delayed"},
		"redisson":  {"pubsub-cut", "pause-server", "script-flush"},
		"redlock":   {"partition-minority", "lost-request"},
	})
}

// Faults of servers affect containers as they do processes. Killing and starting a container takes a good part of a second, and several on a machine that
// does much else: the section during which that happens is longer.
func TestContainersMeetServerFaults(t *testing.T) {
	t.Parallel()
	longer := map[string][]string{"kill-server": {"think=6s", "lease=12s", "duration=8s", "wait=20s"}}
	cells(t, provider(t, "docker"), Goroutines, 2, longer, map[string][]string{
		"token":     {"kill-server", "failover", "clock-jump"},
		"set-nx-ex": {"pause-server", "key-deleted", "eviction"},
		"redlock":   {"partition-minority"},
	})
}

// A client process goes on after a moment only when the run has answered: what the run does at its side of the network depends on it.
func TestClientProcessWaitsUntilItsMomentIsHeard(t *testing.T) {
	in, orders := io.Pipe()
	said, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ClientMain(ctx, in, out); out.Close() }()
	base, _, err := newTimebase().onMachine()
	if err != nil {
		t.Fatal(err)
	}
	give := json.NewEncoder(orders)
	must(t, give.Encode(instruction{Job: &job{Variant: "token", Workload: "counter", Setup: workloads.Setup{Config: workloads.Config{Ops: 1, Lease: time.Second}, Clients: 1},
		Addrs: []string{nodeAddr(0)}, Base: base, Wait: true}}))
	heard := make(chan message)
	go func() {
		defer close(heard)
		for lines := json.NewDecoder(said); ; {
			var n message
			if lines.Decode(&n) != nil {
				return
			}
			if n.Begin == nil {
				heard <- n
			}
		}
	}()
	first := <-heard
	if first.Event == nil || first.Event.Moment != history.Calling || first.Ask == 0 {
		t.Errorf("the first news is %+v, want the moment at which it calls", first)
	}
	select {
	case n := <-heard:
		t.Errorf("it did not wait: %+v", n)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, give.Encode(instruction{Answer: &answer{To: first.Ask}}))
	if next := <-heard; next.Dial == nil || next.Dial.Addr != nodeAddr(0) {
		t.Errorf("then it says %+v, want that it dials", next)
	}
	cancel()
	must(t, orders.Close())
	for range heard { // until it has ended
	}
	<-ended // how, depends on which of the two it noticed first
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A fault at an instant of the run may come before its client's process has started, or for one that never does.
func TestFaultsWaitForTheProcess(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	coming := &processClient{started: make(chan struct{})}
	failed := &processClient{started: make(chan struct{})}
	close(failed.started)
	for _, row := range []struct {
		what string
		p    *processClient
		ctx  context.Context
		want error
	}{
		{"the run ends first", coming, cancelled, context.Canceled},
		{"it could not be started", failed, t.Context(), faults.ErrNothing},
	} {
		if err := row.p.Crash(row.ctx); !errors.Is(err, row.want) {
			t.Errorf("%s: crash: %v, want %v", row.what, err, row.want)
		}
		if _, err := row.p.Pause(row.ctx); !errors.Is(err, row.want) {
			t.Errorf("%s: pause: %v, want %v", row.what, err, row.want)
		}
	}
}
