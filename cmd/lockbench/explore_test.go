package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

func TestExploreEnds(t *testing.T) {
	result := func(verdict checker.Result, schedules int) search.Result {
		return search.Result{Exploration: explored.Exploration{Schema: explored.ExploreSchema, Lock: "token", Verdict: verdict, Schedules: schedules, Strategy: search.Mixed}}
	}
	broken := errors.New("a worker could not be started")
	for _, tt := range []struct {
		name string
		r    search.Result
		err  error
		want int
	}{
		{"nothing found", result("pass", 100), nil, 0},
		{"nothing run", result("inconclusive", 0), nil, 3},
		{"the search broke before it began", search.Result{}, broken, 70},
		{"the search broke on its way", result("pass", 10), broken, 70},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld("")
			w.explorer = func(context.Context, search.Config, func(search.Stats)) (search.Result, error) {
				return tt.r, tt.err
			}
			w.exits(t, tt.want, "explore", "--lock", "token")
		})
	}
}

// An interrupted search shows what it has, and says that it was interrupted.
func TestExploreInterrupted(t *testing.T) {
	for _, tt := range []struct {
		verdict        checker.Result
		reason, headed string
	}{
		{"pass", "", "INCONCLUSIVE  token: interrupted, with no violation in 12 schedules"},
		{"inconclusive", "the search ended early", "INCONCLUSIVE  token: interrupted: the search ended early"},
	} {
		w := newWorld("")
		w.explorer = func(ctx context.Context, _ search.Config, _ func(search.Stats)) (search.Result, error) {
			w.signals <- os.Interrupt
			<-ctx.Done()
			return search.Result{Exploration: explored.Exploration{Schema: explored.ExploreSchema, Lock: "token", Verdict: tt.verdict, Reason: tt.reason, Schedules: 12, Strategy: search.Exhaustive}}, nil
		}
		w.exits(t, 130, "explore", "--lock", "token", "--strategy", "exhaustive")
		want(t, "stdout", w.out.String(), tt.headed, "exhausted    no")
	}
}

// What is searched when little is said.
func TestExploreDefaults(t *testing.T) {
	ask := func(args ...string) search.Config {
		var got search.Config
		w := newWorld("")
		w.explorer = func(_ context.Context, cfg search.Config, _ func(search.Stats)) (search.Result, error) {
			got = cfg
			return search.Result{}, nil
		}
		w.exits(t, 0, append([]string{"explore", "--lock", "token"}, args...)...)
		return got
	}
	if c := ask(); c.Budget != 10*time.Second || c.Bounds.MaxFaults != 2 || c.Bounds.MaxWaits != 2 || c.Program.Config.Ops != 3 ||
		!slices.Contains(c.Bounds.Faults, faults.SlowWork) {
		t.Errorf("mixed: %+v", c)
	}
	if c := ask("--strategy", "exhaustive"); c.Budget != 0 || c.Bounds.MaxFaults != 1 || c.Bounds.MaxWaits != 0 || c.Program.Config.Ops != 1 ||
		slices.Contains(c.Bounds.Faults, faults.SlowWork) {
		t.Errorf("exhaustive: %+v", c)
	}
	if c := ask("--strategy", "exhaustive", "--ops", "2", "--max-faults", "3", "--budget", "1m"); c.Budget != time.Minute || c.Bounds.MaxFaults != 3 ||
		c.Program.Config.Ops != 2 {
		t.Errorf("exhaustive with flags: %+v", c)
	}
	if c := ask("--schedules", "7", "--faults", "none", "--clients", "4", "--seed", "9"); c.Budget != 0 || c.Schedules != 7 || len(c.Bounds.Faults) != 0 ||
		c.Program.Clients != 4 || c.Seed != 9 {
		t.Errorf("with flags: %+v", c)
	}
}

// TestReplaySaysWhatBrokeInstead: a run that follows a tape and breaks another property says which,
// by the tape's cause before others.
func TestReplaySaysWhatBrokeInstead(t *testing.T) {
	tape := sim.Tape{Property: "refusal", Cause: "orphan"}
	fence := checker.Violation{Property: "fencing-order", Cause: "fence-reset", Story: []string{"the fence"}}
	wait := checker.Violation{Property: "progress", Cause: "orphan", Story: []string{"the wait"}}
	for _, c := range []struct {
		all   []checker.Violation
		want  string
		story string
	}{
		{nil, "refusal/orphan not reproduced", ""}, // nothing broke
		// only something by another cause
		{[]checker.Violation{fence}, "refusal/orphan not reproduced, but fencing-order/fence-reset is broken", "the fence"},
		// the same cause comes first
		{[]checker.Violation{fence, wait}, "refusal/orphan not reproduced, but progress/orphan is broken", "the wait"},
	} {
		r := results.Replay{Property: tape.Property, Cause: tape.Cause, Server: "process", Verdict: checker.Pass}
		if r.Instead, r.Story = insteadOf(tape, c.all); r.Instead != "" {
			r.Verdict = checker.Fail
		}
		var out strings.Builder
		must(t, report.Replayed(&out, r, report.Style{}))
		if first, _, _ := strings.Cut(out.String(), "\n"); !strings.HasSuffix(first, c.want) || !strings.Contains(out.String(), c.story) {
			t.Errorf("got %q, want %q with %q", out.String(), c.want, c.story)
		}
	}
}
