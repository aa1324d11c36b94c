package search

import (
	"github.com/lockbench/lockbench/history/reach"
	"github.com/lockbench/lockbench/sim"
)

// reached counts what a schedule reached of what it could have reached within bounds.
func reached(o sim.Outcome, b sim.Bounds) reach.Counts {
	p := o.Program
	plan := reach.Plan{Waits: p.Config.AcquireWait > 0, Poll: int64(p.Poll), Extends: p.Variant.Traits.Extends, TellsLosses: p.Variant.Traits.NotifiesLoss}
	if b.MaxFaults > 0 {
		plan.Faults = b.Faults
	}
	return reach.Of(o.Recorded, o.Windows, plan)
}
