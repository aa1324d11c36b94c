package repro_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/repro"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/verdicts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config reproduces in the simulator, in this process, with the fewest schedules that show every
// bug.
func config(t *testing.T) repro.Config {
	t.Helper()
	provider := &harness.Sim{Schedules: 1}
	one := sim.New(catalogue.Known{})
	t.Cleanup(one.Close)
	t.Cleanup(func() {
		if err := provider.Close(); err != nil {
			t.Error(err)
		}
	})
	base := harness.Experiment{Provider: provider, Now: time.Now, Random: bytes.NewReader(bytes.Repeat([]byte{1}, 1<<12))}
	return repro.Config{Base: base, Seed: 1, Run: harness.Run,
		Explore: func(ctx context.Context, c search.Config) (search.Result, error) {
			return search.Here(ctx, c, []sim.Runner{one}, nil)
		},
		Breaks: func(ctx context.Context, tape sim.Tape) (bool, []string, error) {
			return search.Breaks(ctx, one, tape)
		}}
}

// TestEveryBugIsReproduced runs the whole list.
func TestEveryBugIsReproduced(t *testing.T) {
	cfg := config(t)
	for _, b := range repro.Bugs() {
		t.Run(b.Name, func(t *testing.T) {
			r, err := repro.Run(t.Context(), b, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Reproduced || r.Why != "" || len(r.Observed) == 0 || len(r.Story) == 0 || r.Spared != b.Control {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestEveryBugOnRealServers takes minutes; LOCKBENCH_SOAK enables it.
func TestEveryBugOnRealServers(t *testing.T) {
	if os.Getenv("LOCKBENCH_SOAK") == "" {
		t.Skip("takes minutes; set LOCKBENCH_SOAK")
	}
	cfg := config(t)
	cfg.Base.Provider = servers.NewProcess(servers.ProcessOptions{})
	testneeds.Need(t, "process", cfg.Base.Provider.Available(t.Context()))
	for _, b := range repro.Bugs() {
		if b.Searches() {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			if r, err := repro.Run(t.Context(), b, cfg); err != nil || !r.Reproduced {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestBugListIsComplete checks the fields of each bug, and that the list has the five cases of the
// argument and at least fifteen public reports.
func TestBugListIsComplete(t *testing.T) {
	seen, reports := map[string]bool{}, 0
	for _, b := range repro.Bugs() {
		if seen[b.Name] || strings.ContainsAny(b.Name, " _/") || !strings.HasSuffix(b.What, ".") || b.Source == "" || len(b.Shows) == 0 {
			t.Errorf("%+v", b)
		}
		seen[b.Name] = true
		if _, ok := catalogue.Find(b.Lock); !ok {
			t.Errorf("%s: no lock %s", b.Name, b.Lock)
		}
		if s, ok := scenarios.Find(b.Scenario); !b.Searches() && !ok {
			t.Errorf("%s: no scenario %s", b.Name, b.Scenario)
		} else if _, err := s.With(b.Set); !b.Searches() && err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		for _, s := range b.Shows {
			property, cause, _ := strings.Cut(s, "/")
			if cause == "" {
				t.Errorf("%s: %s without a cause", b.Name, property)
			}
			if !slices.Contains(properties, verdicts.Property(property)) {
				t.Errorf("%s: no property %s", b.Name, property)
			}
		}
		if strings.Contains(b.Source, "#") {
			reports++
		}
	}
	for _, name := range []string{"K1", "K2", "K3", "K4", "K5", "redlock-restart"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if reports < 15 {
		t.Errorf("%d public reports, want at least 15", reports)
	}
}

// properties are those that a bug may be known by.
var properties = []verdicts.Property{verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.StoreIntegrity, verdicts.ReleaseSafety,
	verdicts.FencingOrder, verdicts.Progress, verdicts.Refusal, verdicts.Reentrancy, verdicts.Renewal, verdicts.Fairness}

// fake is a run in which each lock breaks the given property for the given cause.
func fake(breaks map[string]verdicts.Break, windows []history.Window) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
	return func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		v := checker.Verdict{Verdict: checker.Pass}
		if b, ok := breaks[e.Variant.Name]; ok {
			v.Verdict = checker.Fail
			v.Properties = []checker.Property{{Name: b.Property, Verdict: checker.Fail, Violations: 1, Causes: map[verdicts.Cause]int{b.Cause: 1}}}
		}
		run := results.Run{Lock: e.Variant.Name, Scenario: e.Scenario.Name}
		return &harness.Outcome{Run: run, Result: results.NewResult(run, v), Verdict: &v, Windows: windows}, nil
	}
}

func TestWhatCountsAsReproduced(t *testing.T) {
	stalled := []history.Window{{Fault: "pause-client"}}
	overbelief := verdicts.Break{Property: verdicts.MutualExclusion, Cause: verdicts.Overbelief}
	tests := []struct {
		name    string
		bug     string
		breaks  map[string]verdicts.Break
		windows []history.Window
		want    bool
		why     string
	}{
		{"the bug is seen", "plain-del-mis-unlock", map[string]verdicts.Break{"set-nx-ex": {Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock}}, stalled, true, ""},
		{"nothing is seen", "plain-del-mis-unlock", nil, stalled, false, "was observed in 4 runs"},
		{"something else is seen", "plain-del-mis-unlock", map[string]verdicts.Break{"set-nx-ex": {Property: verdicts.Progress, Cause: verdicts.MisUnlock}}, stalled, false, "was observed in 4 runs"},
		{"the control survives", "K5", map[string]verdicts.Break{"bug-redlock-one-look": overbelief}, stalled, true, ""},
		{"the control breaks, too", "K5", map[string]verdicts.Break{"bug-redlock-one-look": overbelief, "redlock": overbelief},
			stalled, false, "the control "},
		{"no fault hit the control", "K5", map[string]verdicts.Break{"bug-redlock-one-look": overbelief}, nil, false, "no fault was injected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, ok := repro.Find(tt.bug)
			if !ok {
				t.Fatal("no such bug")
			}
			cfg := config(t)
			cfg.Run = fake(tt.breaks, tt.windows)
			r, err := repro.Run(t.Context(), b, cfg)
			if err != nil || r.Reproduced != tt.want || !strings.Contains(r.Why, tt.why) || tt.want != (r.Why == "") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestSearchRunsTheControl: a violation that the correct lock shows too is not the bug.
func TestSearchRunsTheControl(t *testing.T) {
	b, _ := repro.Find("blind-release")
	cfg := config(t)
	cfg.Breaks = func(_ context.Context, tape sim.Tape) (bool, []string, error) {
		return tape.Program.Lock == "token", nil, nil
	}
	if r, err := repro.Run(t.Context(), b, cfg); err != nil || r.Reproduced || !strings.Contains(r.Why, "the control token") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSearchesNeedTheSimulator(t *testing.T) {
	b, _ := repro.Find("blind-release")
	cfg := config(t)
	cfg.Base.Provider = servers.NewProcess(servers.ProcessOptions{})
	if _, err := repro.Run(t.Context(), b, cfg); !errors.Is(err, repro.ErrSimOnly) {
		t.Errorf("%v", err)
	}
}
