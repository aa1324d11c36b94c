package harness

import (
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// lateServers lists the kills and failovers of a plan after which the next server was there too late: the plan has it back in a section
// that is under way, and what starts it, a container's engine above all, took more than half of one. Whether the section's lock
// was still held is luck then. Where the plan itself keeps the server away for a lease, no hold is left to be met.
func lateServers(e Experiment, windows []history.Window) (late []history.Window) {
	lease := e.lease()
	for _, w := range windows {
		takesAway := w.Fault == faults.KillServer || w.Fault == faults.Failover
		soon := !slices.ContainsFunc(e.Scenario.Faults, func(f faults.Spec) bool { return f.Fault == w.Fault && f.For.Of(lease) >= lease })
		if takesAway && soon && w.Ending > 0 && time.Duration(w.End-w.Ending) > e.Scenario.Think.Of(lease)/2 {
			late = append(late, w)
		}
	}
	return late
}
