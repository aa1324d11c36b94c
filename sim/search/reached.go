package search

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
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

// judged counts the properties that had something to judge in a schedule, of those that the lock
// promises.
func judged(v *checker.Verdict, t impls.Traits) history.Reach {
	c := history.Reach{}
	for _, p := range v.Properties {
		promised := p.Name == verdicts.FencingOrder && t.Fenced || p.Name == verdicts.Renewal && t.Extends ||
			p.Name == verdicts.MutualExclusion || p.Name == verdicts.ExclusiveUse || p.Name == verdicts.ReleaseSafety
		if promised || p.Verdict != checker.NotApplicable {
			c["something to judge by "+string(p.Name)] = min(p.Opportunities, 1)
		}
	}
	return c
}
