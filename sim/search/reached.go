package search

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
)

// reached counts what a schedule reached of what it could have reached within bounds.
func reached(o sim.Outcome, b sim.Bounds) history.Reach {
	p := o.Program
	plan := history.Prospect{Waits: p.Config.AcquireWait > 0, Poll: int64(p.Poll), Extends: p.Variant.Traits.Extends, TellsLosses: p.Variant.Traits.NotifiesLoss}
	if b.MaxFaults > 0 {
		plan.Faults = b.Faults
	}
	return history.Reached(o.Recorded, o.Windows, plan)
}
