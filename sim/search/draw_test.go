package search

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// TestManyTries: some schedules have waiters with more tries than any lock's constant, one in eight
// and, where time is real, a try takes 30 ms, and leases are short, one in 32.
func TestManyTries(t *testing.T) {
	for lease, try := range map[time.Duration]time.Duration{time.Second: 0, 100 * time.Millisecond: 30 * time.Millisecond} {
		j := searchJob{Program: sim.Program{Clients: 2, Config: workloads.Config{Ops: 3, Lease: lease, Think: lease / 5, Pause: lease / 50, AcquireWait: 3 * lease}}}
		many := 0
		for n := range 400 {
			c := j.draw(n, 100).program
			if c.Poll == 0 {
				continue
			}
			many++
			tries := c.Config.AcquireWait / max(c.Poll, try)
			if try > 0 {
				tries = c.Config.Think / try // while one hold lasts
			}
			if tries <= 64 || c.Config.AcquireWait < c.Config.Think {
				t.Errorf("lease %v: %d tries, %+v", lease, tries, c.Config)
			}
		}
		if share := 400 / max(many, 1); share < 5 || share > 40 {
			t.Errorf("lease %v: %d of 400 schedules", lease, many)
		}
	}
}
