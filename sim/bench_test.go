package sim

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/impls/catalogue"
)

// cpu is the processor time that this process has used. Schedules are compared by it, so that a busy machine does not count.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSchedule measures what a worker of explore does, by lock and strategy: schedules of the lock's default setting (DefaultProgram)
// and its default faults (two of them at most; one in an exhaustive search, which cannot place those that are there from the start), run
// and judged in a process set up as a worker's is. virtual-s/cpu-s is how much longer the same schedules would take in real time.
func BenchmarkSchedule(b *testing.B) {
	for _, lock := range []string{"set-nx-ex", "token", "redlock", "redisson", "fair", "rw-lease", "semaphore", "redsync"} {
		v, ok := catalogue.Find(lock)
		if !ok {
			b.Fatalf("no lock %s", lock)
		}
		for _, strategy := range []string{Random, PCT, Exhaustive} {
			j := searchJob{Program: DefaultProgram(v), Bounds: Bounds{Faults: DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Strategy: strategy, All: true}
			if strategy == Exhaustive {
				j.Bounds.Faults = slices.DeleteFunc(j.Bounds.Faults, func(f string) bool { return IsStanding(f) })
				j.Bounds.MaxFaults = 1
			}
			b.Run(lock+"/"+strategy, func(b *testing.B) { benchmarkSearch(b, j) })
		}
	}
}

// BenchmarkBareSchedule measures the simulator alone: two clients, two rounds, no faults, no judgement.
func BenchmarkBareSchedule(b *testing.B) {
	for _, lock := range []string{"set-nx-ex", "token"} {
		b.Run(lock, func(b *testing.B) {
			defer dedicateProcess()()
			h := newTestHost(b)
			p := program(b, lock, "hot", 2)
			start := cpu(b)
			for n := range b.N {
				if _, err := h.run(p, newRandom(uint64(n), Bounds{}, 60), Bounds{}, false); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/(cpu(b)-start).Seconds(), "schedules/cpu-s")
		})
	}
}

func benchmarkSearch(b *testing.B, j searchJob) {
	b.Helper()
	defer dedicateProcess()()
	j.Schedules = b.N
	s, err := newSearch(j, newTestHost(b))
	if err != nil {
		b.Fatal(err)
	}
	start := cpu(b)
	if err := s.run(b.Context()); err != nil {
		b.Fatal(err)
	}
	used := (cpu(b) - start).Seconds()
	b.ReportMetric(float64(b.N)/used, "schedules/cpu-s")
	b.ReportMetric(float64(s.progress.Steps)/float64(b.N), "events/schedule")
	b.ReportMetric(s.progress.Virtual.Seconds()/used, "virtual-s/cpu-s")
}

// BenchmarkJudge measures the judgement of one clean schedule.
func BenchmarkJudge(b *testing.B) {
	h := newTestHost(b)
	p := program(b, "token", "counter", 2)
	out, err := h.run(p, byDefault{}, Bounds{}, false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		all, err := judge(b.Context(), out, p, false)
		if err != nil || len(all) > 0 {
			b.Fatal(all, err)
		}
	}
}
