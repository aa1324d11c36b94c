package search

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// TestManyTries: in one schedule of 33 a wait has more tries than any lock's constant, also where
// time is real, a try takes 30 ms, and leases are short.
func TestManyTries(t *testing.T) {
	for lease, try := range map[time.Duration]time.Duration{time.Second: 0, 100 * time.Millisecond: 30 * time.Millisecond} {
		j := searchJob{Config: Config{Program: sim.Program{Clients: 2, Config: workloads.Config{Ops: 3, Lease: lease, Think: lease / 5, Pause: lease / 50, AcquireWait: 3 * lease}}}}
		many := 0
		for n := range 400 {
			c := j.draw(n, 100).program
			if c.Poll == 0 {
				continue
			}
			many++
			tries := c.Config.Think / max(c.Poll, try) // while one hold lasts
			if tries <= 64 || c.Config.AcquireWait < c.Config.Think {
				t.Errorf("lease %v: %d tries, %+v", lease, tries, c.Config)
			}
		}
		if many != 400/33 {
			t.Errorf("lease %v: %d of 400 schedules", lease, many)
		}
	}
}
