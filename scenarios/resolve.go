package scenarios

import (
	"cmp"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// defaultNodes is the default number of independent masters.
const defaultNodes = 5

// Resolve returns the plan of a scenario for a lock of this topology: every default filled in,
// every span fixed, and every open choice drawn from the seed. The result depends on its arguments
// alone. Resolving a plan again, with any seed, changes nothing.
func (s Scenario) Resolve(seed uint64, topology impls.Topology) Scenario {
	s.Topology = cmp.Or(s.Topology, topology, impls.Standalone)
	s.Nodes = s.NodeCount()
	s.Keys, s.Permits = max(s.Keys, 1), max(s.Permits, 1)
	s.Persistence = cmp.Or(s.Persistence, impls.PersistNone)
	lease := s.Lease.Fixed
	for _, span := range []*faults.Span{&s.Length, &s.WarmUp, &s.Think, &s.Pause, &s.Keep, &s.Wait, &s.Poll, &s.DownAfter} {
		*span = faults.Span{Fixed: span.Of(lease)}
	}
	if s.Poll.Fixed == 0 {
		s.Poll.Fixed = impls.DefaultPoll
	}
	draw := drawer{rng: rand.New(rand.NewPCG(seed, planStream)), scenario: s, taken: map[string]bool{}}
	resolved := make([]faults.Spec, 0, len(s.Faults))
	for _, f := range s.Faults {
		resolved = append(resolved, draw.fault(f, lease))
	}
	s.Faults = resolved
	return s
}

// planStream separates the plan's random numbers from the clients', which use the same seed.
const planStream = 0x706c616e

// NodeCount returns the number of nodes of the scenario's topology; 1 if that is the lock's own.
func (s Scenario) NodeCount() int {
	switch s.Topology {
	case impls.Independent:
		return cmp.Or(s.Nodes, defaultNodes)
	case impls.Replicated:
		return max(s.Nodes, 2)
	case impls.Cluster:
		return max(s.Nodes, impls.ClusterMasters)
	case impls.Sentinel:
		return 3
	}
	return 1
}

// drawer makes the random choices of a plan.
type drawer struct {
	rng      *rand.Rand
	scenario Scenario
	taken    map[string]bool // targets already chosen or named: "pause-client/client 2"
}

// fault draws one fault's choices. It always draws as many values, so that naming a client in one
// fault leaves the next fault's choices.
func (d *drawer) fault(f faults.Spec, lease time.Duration) faults.Spec {
	client, node, within := d.rng.Uint64(), d.rng.Uint64(), d.rng.Float64()
	kind, _ := faults.FindKind(f.Fault)
	if f.Client == 0 && kind.On == faults.OneClient && !f.When.OfClient() {
		f.Client = d.choose(f.Fault+"/client ", client, d.scenario.Clients)
	}
	if f.Node == 0 && kind.On == faults.OneNode {
		// No replica grants the lock; with sentinels, one node does.
		grants := d.scenario.Topology.Primaries(d.scenario.Nodes)
		if d.scenario.Topology == impls.Sentinel {
			grants = 1
		}
		f.Node = d.choose(f.Fault+"/node ", node, grants)
	}
	d.taken[f.Fault+"/client "+strconv.Itoa(f.Client)] = true
	d.taken[f.Fault+"/node "+strconv.Itoa(f.Node)] = true
	if f.When.Within != (faults.Span{}) {
		f.When.After = faults.Span{Fixed: max(time.Duration(within*float64(f.When.Within.Of(lease))).Round(time.Millisecond), time.Millisecond)}
		f.When.Within = faults.Span{}
	}
	for _, span := range []*faults.Span{&f.For, &f.By, &f.When.After} {
		*span = faults.Span{Fixed: span.Of(lease)}
	}
	return f
}

// choose returns one of 1 … n, if possible one that no fault of the same name has.
func (d *drawer) choose(what string, number uint64, n int) int {
	var free []int
	for i := 1; i <= n; i++ {
		if !d.taken[what+strconv.Itoa(i)] {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return int(number%uint64(n)) + 1
	}
	return free[number%uint64(len(free))]
}
