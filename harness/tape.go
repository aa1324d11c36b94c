package harness

import (
	"cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
)

// OfTape makes a scenario of a tape: the same lock, clients, rounds and times, and of its faults those that are so from the start. The
// others, and the order of messages, are in the tape's schedule, see [Experiment.Schedule].
func OfTape(t sim.Tape) scenarios.Scenario {
	p := t.Program
	s := scenarios.Scenario{
		Name: "tape", About: "The program of a tape.", Workload: p.Load, Topology: p.Topology, Nodes: p.Nodes,
		Clients: cmp.Or(p.Clients, 2), Ops: p.Config.Ops, Length: faults.Span{Fixed: p.Length}, Lease: faults.Span{Fixed: p.Config.Lease},
		Think: faults.Span{Fixed: p.Config.Think}, Pause: faults.Span{Fixed: p.Config.Pause}, Wait: faults.Span{Fixed: p.Config.AcquireWait},
		Poll: faults.Span{Fixed: cmp.Or(p.Poll, p.Config.Lease/sim.PollsPerLease)}, Keys: p.Config.Keys, Permits: p.Permits, Amounts: p.Config.Amounts,
		Persistence: p.Persistence,
	}
	for _, f := range p.Faults {
		if kind, _ := faults.FindKind(f.Fault); kind.In == faults.InClient && f.When.Form() == faults.AtStart {
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}
