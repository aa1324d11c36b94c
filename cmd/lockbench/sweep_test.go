package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/results"
)

var sweepArgs = []string{"run", "--lock", "token", "--scenario", "pause-holder", "--sweep", "pause/lease=0.5..2/4", "--seed", "5", "-o", "json"}

func sweepOf(t *testing.T, w *testWorld) results.Sweep {
	t.Helper()
	var s results.Sweep
	if err := json.Unmarshal([]byte(w.out.String()), &s); err != nil {
		t.Fatalf("%v\n%s", err, w.out)
	}
	return s
}

// Each size is run as often as asked, with the same seeds, and the runs of a size are added up.
func TestSweepRunsEverySize(t *testing.T) {
	w := newWorld(checker.Pass)
	w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		if e.Scenario.Faults[0].For.Fixed > 300*time.Millisecond && e.Seed == 6 {
			return outcome(e, checker.Fail), nil
		}
		return outcome(e, checker.Pass), nil
	}
	if got := w.call(t, append(sweepArgs, "--reps", "2")...); got != 1 {
		t.Errorf("exit code %d, want 1\n%s", got, w.err)
	}
	s := sweepOf(t, w)
	if len(w.ran) != 8 || len(s.Points) != 4 || s.Seed != 5 || s.Verdict != checker.Fail {
		t.Fatalf("%d runs, %+v", len(w.ran), s)
	}
	for i, want := range []int{0, 0, 1, 1} { // 0.5, 1, 1.5 and 2 leases of 300 ms
		if p := s.Points[i]; p.Runs != 2 || p.Violated != want || p.Properties[0].Opportunities != 200 || p.Properties[0].Violations != want {
			t.Errorf("%s: %+v, want %d of 2 violated", p.Size, p, want)
		}
	}
	if w.ran[0].Seed != 5 || w.ran[1].Seed != 6 || w.ran[2].Seed != 5 || planOf(t, w.ran[0]) == planOf(t, w.ran[2]) {
		t.Error("the seeds or plans of the runs are not what they should be")
	}
}

// Several runs, and the runs of each size, add up in how many failovers the replica had the key.
func TestFailoversAddUp(t *testing.T) {
	had := map[uint64]int{5: 1, 6: 0, 7: 1}
	of := func(args ...string) string {
		w := newWorld(checker.Pass)
		w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
			out := outcome(e, checker.Pass)
			out.Result.Failovers = &results.Failovers{Count: 1, Had: had[e.Seed]}
			return out, nil
		}
		if got := w.call(t, append([]string{"run", "--lock", "token", "--scenario", "failover-held", "--seed", "5", "--reps", "3"}, args...)...); got != 0 {
			t.Fatalf("exit code %d\n%s", got, w.err)
		}
		return w.out.String()
	}
	const all = "replica had the key in 2 (67 %; 95 %: 9.4 % to 99 %)"
	if text := of(); !strings.Contains(text, "failovers 3, "+all) {
		t.Errorf("three runs:\n%s", text)
	}
	if text := of("--sweep", "failover-lag=1ms..9ms/2"); strings.Count(text, "ms: failovers 3, "+all) != 2 {
		t.Errorf("two sizes:\n%s", text)
	}
}

func TestSweepEnds(t *testing.T) {
	tests := []struct {
		name string
		run  func(w *testWorld) func(context.Context, harness.Experiment) (*harness.Outcome, error)
		want int
		runs int
	}{
		{"inconclusive", func(*testWorld) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
			return func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
				return outcome(e, checker.Inconclusive), nil
			}
		}, 3, 4},
		{"a run breaks: the rest is not tried", func(*testWorld) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
			return func(context.Context, harness.Experiment) (*harness.Outcome, error) {
				return nil, errors.New("disk full")
			}
		}, 70, 1},
		{"interrupted: what there is is shown", func(w *testWorld) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
			return func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
				w.signals <- os.Interrupt
				<-e.Stop
				return outcome(e, checker.Pass), nil
			}
		}, 130, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.runner = tt.run(w)
			if got := w.call(t, sweepArgs...); got != tt.want {
				t.Errorf("exit code %d, want %d\n%s", got, tt.want, w.err)
			}
			if s := sweepOf(t, w); len(w.ran) != tt.runs || s.Asked != 4 {
				t.Errorf("%d runs, want %d: %+v", len(w.ran), tt.runs, s)
			}
		})
	}
}
