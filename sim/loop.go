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
	w.out.Loop = &Loop{Client: c.name, Sent: loopAfter, In: w.now() - c.burstBegan, Commands: period(c.commands)}
}

// period returns the shortest sequence that the last commands repeat.
func period(all []history.Command) []history.Command {
	same := func(a, b history.Command) bool { return a.Name == b.Name && a.Script == b.Script && a.Node == b.Node }
	all = all[max(0, len(all)-loopAfter):]
	for n := 1; n <= len(all)/3; n++ {
		last, before := all[len(all)-n:], all[len(all)-2*n:len(all)-n]
		if slices.EqualFunc(last, before, same) {
			return before // the earlier ones have their replies
		}
	}
	return all[max(0, len(all)-10):]
}
