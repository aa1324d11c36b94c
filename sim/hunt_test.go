package sim

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

func TestHunt(t *testing.T) {
	only := os.Getenv("HUNT")
	if only == "" {
		t.Skip("set HUNT")
	}
	for _, v := range append(catalogue.Locks(), catalogue.Planted()...) {
		if only != "all" && only != v.Name || v.Topology == impls.Cluster {
			continue
		}
		p := DefaultProgram(v)
		j := job{Program: p, Bounds: Bounds{Faults: DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Strategy: Mixed, Parts: 1, All: os.Getenv("HUNT_ALL") != ""}
		s, err := newSearch(j, newTestHost(t))
		if err != nil {
			t.Error(v.Name, err)
			continue
		}
		s.found = func(f finding) {
			if os.Getenv("HUNT_ALL") == "" || len(f.Tape.Steps) == 0 {
				t.Logf("%s: schedule %d %s %v\n%v", v.Name, f.Schedule, f.Broken.key(), f.Tape.Choices, f.Broken.Story)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		start, cpu := time.Now(), cpuTime()
		if err := s.run(ctx); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		cancel()
		el := cpuTime() - cpu
		t.Logf("wall %v", time.Since(start))
		t.Logf("%s: %d schedules in %v CPU (%.0f/s), %d steps each; violated %v excepted %v", v.Name, s.progress.Schedules, el.Round(time.Millisecond), float64(s.progress.Schedules)/el.Seconds(), s.progress.Steps/max(1, s.progress.Schedules), s.progress.Violated, s.progress.Excepted)
	}
}

// cpuTime is the processor time that this process has used: what a busy machine does not distort.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
