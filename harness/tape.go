package harness

import (
	"cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
)

// OfTape makes a scenario of a tape, for servers whose messages nobody can put in order: the same lock, clients, rounds and times, and the tape's
// faults as [sim.Simulator.Placed] gives them.
func OfTape(t sim.Tape, placed []faults.Spec) scenarios.Scenario {
	p := t.Program
	return scenarios.Scenario{
		Name: "tape", About: "The program and the faults of a tape.", Workload: p.Load, Topology: p.Topology, Nodes: p.Nodes,
		Clients: cmp.Or(p.Clients, 2), Ops: p.Config.Ops, Length: faults.Span{Fixed: p.Length}, Lease: faults.Span{Fixed: p.Config.Lease},
		Think: faults.Span{Fixed: p.Config.Think}, Pause: faults.Span{Fixed: p.Config.Pause}, Wait: faults.Span{Fixed: p.Config.AcquireWait},
		Poll: faults.Span{Fixed: p.Poll}, Keys: p.Config.Keys, Permits: p.Permits, Amounts: p.Config.Amounts,
		Persistence: p.Persistence, Faults: placed,
	}
}
