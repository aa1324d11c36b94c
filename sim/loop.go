package sim

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// loopAfter is how many commands, in one operation and within a lease divided by loopShare, make a
// client count as looping: one that polls sends few.
const (
	loopAfter = 500
	loopShare = 100
)

// countBurst counts a command, and ends the schedule if its client loops.
func (w *world) countBurst(c *client) {
	if w.now() > c.burstBegan+w.program.Config.Lease/loopShare {
		c.commandsSince, c.burstBegan = 0, w.now()
	}
	if c.commandsSince++; c.commandsSince < loopAfter || w.out.Loop != nil {
		return
	}
	// the shortest sequence that the last commands repeat
	same := func(a, b history.Command) bool { return a.Name == b.Name && a.Script == b.Script && a.Node == b.Node }
	last := c.commands[max(0, len(c.commands)-loopAfter):]
	period := last[max(0, len(last)-10):]
	for n := 1; n <= len(last)/3; n++ {
		before := last[len(last)-2*n : len(last)-n] // these have their replies
		if slices.EqualFunc(last[len(last)-n:], before, same) {
			period = before
			break
		}
	}
	w.out.Loop = &Loop{Client: c.name, Sent: loopAfter, In: w.now() - c.burstBegan, Commands: period}
}
