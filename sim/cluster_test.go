package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// testCluster is a cluster of empty nodes whose clocks start at t.
func testCluster(t *testing.T, start time.Time) []*node {
	t.Helper()
	nodes := make([]*node, clusterNodes)
	for i := range nodes {
		nodes[i] = testNode(t, start)
	}
	join(nodes)
	return nodes
}

// onCluster returns the program of a lock with clients of a cluster.
func onCluster(t *testing.T, lock string) Program {
	t.Helper()
	p := program(t, lock, "counter", 3)
	p.Topology, p.Clients = impls.Cluster, 3
	return p
}

// TestEveryLockOnACluster runs every lock that supports a cluster: it is granted, no client is refused a slot, and the same seed gives the same
// trace.
func TestEveryLockOnACluster(t *testing.T) {
	one, two := newTestHost(t), newTestHost(t)
	for _, v := range catalogue.Locks() {
		if want := v.Expect["cluster-slots"]; want.NA != "" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			for seed := range uint64(3) {
				p := onCluster(t, v.Name)
				p.Seed = seed
				first := simulate(t, one, p, newRandom(seed, Bounds{}, 0), Bounds{})
				if first.Left != "" || len(first.Errors) > 0 {
					t.Fatalf("left %q, errors %v", first.Left, first.Errors)
				}
				if len(v.Expect["cluster-slots"].Breaks) == 0 && count(first, history.Acquire, history.OK) == 0 {
					t.Error("granted to nobody")
				}
				for _, c := range first.Commands {
					if strings.Contains(c.Reply, "MOVED") || strings.Contains(c.Reply, "CROSSSLOT") {
						t.Fatalf("%s %v answers %s", c.Name, c.Args, c.Reply)
					}
				}
				if again := simulate(t, two, p, newRandom(seed, Bounds{}, 0), Bounds{}); fingerprint(again) != fingerprint(first) {
					t.Errorf("seed %d: two traces", seed)
				}
			}
		})
	}
}

// TestClusterPublishes: a message reaches the subscribers of every node, and PUBLISH replies with the number of those at its own node.
func TestClusterPublishes(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		join(w.nodes)
		here, there := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[1])
		here.sends("SUBSCRIBE ch")
		there.sends("SUBSCRIBE ch")
		if got := asked(w.nodes[0], time.Now(), "PUBLISH ch hello", "PUBLISH other hello"); !slices.Equal(got, []string{":1", ":0"}) {
			t.Errorf("PUBLISH answers %q", got)
		}
		for _, cn := range []*conn{here, there} {
			if got := cn.answers(); !strings.Contains(got, "hello") {
				t.Errorf("a subscriber got %q", got)
			}
		}
	})
}

// TestClusterClientRepeatsNothing: the reply to an acquire is lost with its connection. A client that repeated the request with the same token
// would find the lock taken by its own first attempt.
func TestClusterClientRepeatsNothing(t *testing.T) {
	p := onCluster(t, "token")
	p.Faults = []faults.Spec{{Fault: faults.LoseReply, When: faults.Trigger{Reply: "acquire SET"}}}
	out := simulate(t, newTestHost(t), p, newRandom(1, Bounds{}, 0), Bounds{})
	if len(out.Windows) != 1 {
		t.Fatalf("windows %+v, want one", out.Windows)
	}
	seen := map[string]bool{}
	for _, c := range out.Commands {
		said := c.Client + strings.Join(c.Args, " ")
		if c.Name == "SET" && c.Node != storeNode && seen[said] {
			t.Errorf("%s says twice SET %q", c.Client, c.Args)
		}
		seen[said] = true
	}
}

// TestClusterUnderFaults: whatever strikes, a schedule on a cluster ends and leaves nothing behind.
func TestClusterUnderFaults(t *testing.T) {
	h, bounds := newTestHost(t), Bounds{Faults: everyFault, MaxFaults: 2, MaxWaits: 3}
	for _, lock := range []string{"token", "fair", "redisson"} {
		for seed := range uint64(20) {
			p := onCluster(t, lock)
			p.Seed = seed
			if out := simulate(t, h, p, newRandom(seed, bounds, 40), bounds); out.Left != "" {
				t.Errorf("%s, seed %d: left %s", lock, seed, out.Left)
			}
		}
	}
}
