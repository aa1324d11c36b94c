package search

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/sim"
)

// cpu returns the processor time that this process has used. Comparing schedules by it excludes the
// load of the machine.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchmarkJob is the search of a benchmark: the lock's default setting with at most two of its
// default faults.
func benchmarkJob(v impls.Variant, strategy string) searchJob {
	return searchJob{Config: Config{Program: sim.DefaultProgram(v), Bounds: sim.Bounds{Faults: sim.DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}, Strategy: strategy}}
}

// soundLocks lists the locks searched at length, in which nothing is found.
func soundLocks(b *testing.B) (all []impls.Variant) {
	b.Helper()
	for _, name := range slices.Concat(correct, libraries) {
		v, ok := catalogue.Find(name)
		if !ok {
			b.Fatalf("no lock %s", name)
		}
		all = append(all, v)
	}
	return all
}

// BenchmarkSchedule measures, for every lock in which nothing is found, schedules as a worker of
// explore runs them: bare, and judged. The two run the same schedules alternately, 20 at a time, in
// a process set up as a worker's is.
func BenchmarkSchedule(b *testing.B) {
	const turn = 20
	for _, v := range soundLocks(b) {
		b.Run(v.Name, func(b *testing.B) {
			defer dedicateProcess()()
			h, begun, schedules := newSimulator(b), false, 0
			bare, judged := newBenchmarkSearch(b, h, v), newBenchmarkSearch(b, h, v)
			bare.judge = func(context.Context, sim.Outcome, bool) ([]broken, history.Reach, error) { return nil, nil, nil }
			var used [2]time.Duration
			for b.Loop() {
				for i, s := range []*search{bare, judged} {
					start := cpu(b)
					for n := range turn {
						if _, err := s.one(b.Context(), schedules+n); err != nil {
							b.Fatal(err)
						}
					}
					if begun { // the first turn compiles scripts
						used[i] += cpu(b) - start
					}
				}
				if begun {
					schedules += turn
				}
				begun = true
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(schedules)/used[0].Seconds(), "bare/cpu-s")
			b.ReportMetric(float64(schedules)/used[1].Seconds(), "judged/cpu-s")
			b.ReportMetric(100*used[0].Seconds()/used[1].Seconds(), "%-judged")
			b.ReportMetric(float64(judged.progress.Steps)/float64(judged.progress.Schedules), "events/schedule")
		})
	}
}

func newBenchmarkSearch(b *testing.B, h *sim.Simulator, v impls.Variant) *search {
	b.Helper()
	s, err := newSearch(benchmarkJob(v, Mixed), h)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.causes.Close)
	s.length = 60
	return s
}

// BenchmarkWalk measures an exhaustive search, with one fault at most.
func BenchmarkWalk(b *testing.B) {
	for _, v := range soundLocks(b) {
		b.Run(v.Name, func(b *testing.B) {
			defer dedicateProcess()()
			j := benchmarkJob(v, Exhaustive)
			j.Bounds.Faults = slices.DeleteFunc(j.Bounds.Faults, sim.IsStanding)
			j.Bounds.MaxFaults, j.Schedules = 1, b.N
			s, err := newSearch(j, newSimulator(b))
			if err != nil {
				b.Fatal(err)
			}
			start := cpu(b)
			if err := s.run(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/(cpu(b)-start).Seconds(), "schedules/cpu-s")
		})
	}
}

// BenchmarkJudge measures the judgement of one clean schedule.
func BenchmarkJudge(b *testing.B) {
	h := newSimulator(b)
	p := program(b, "token", "counter", 2)
	out, err := h.Schedule(p, sim.ByDefault{}, sim.Bounds{}, false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		all, err := judgeOne(b.Context(), out, false)
		if err != nil || len(all) > 0 {
			b.Fatal(all, err)
		}
	}
}
