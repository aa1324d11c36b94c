package checker_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/verdicts"
)

// TestEveryRuleIsNeeded: each rule is there because a recorded history of a lock fails by it and
// without it does not. The histories are recorded here, in the simulator.
func TestEveryRuleIsNeeded(t *testing.T) {
	pool := &harness.Sim{}
	defer pool.Close()
	for _, row := range []struct {
		rule, lock, scenario string
		property             verdicts.Property
		bare                 bool // without the record's effects, as of a Redis given by URL
	}{
		{"belief-overlap", "exists-set", "contended", verdicts.MutualExclusion, false},
		{"use-overlap", "token", "pause-holder", verdicts.ExclusiveUse, false},
		{"lost-update", "exists-set", "contended", verdicts.StoreIntegrity, false},
		{"busy-witness", "bug-unknown-is-busy", "lost-reply-alone", verdicts.Refusal, false},
		{"fence-order", "fenced", "failover", verdicts.FencingOrder, false},
		{"another's-mark", "set-nx-ex", "pause-holder", verdicts.ReleaseSafety, false},
		{"late-extend", "bug-resurrects", "late-renewal", verdicts.ReleaseSafety, false},
		{"healthy-lost", "bug-short-inner-lease", "nested", verdicts.Renewal, false},
		{"free-but-refused", "bug-no-wake", "long-lease", verdicts.Progress, false},
		{"overtaken", "bug-barging", "contended", verdicts.Fairness, false},
		{"search", "exists-set", "contended", verdicts.Linearizability, false},
		{"mis-unlock", "set-nx-ex", "slow-work", verdicts.ReleaseSafety, true},
		{"owner-refused", "bug-refuses-owner", "nested", verdicts.Reentrancy, false},
		{"owner-not-held", "bug-inner-release", "nested", verdicts.Reentrancy, false},
		{"refused-release", "bug-packed-release", "contended", verdicts.ReleaseSafety, false},
		{"refused-release", "bug-packed-release", "contended", verdicts.ReleaseSafety, true},
		{"stale-write", "getset-timestamp", "late-outer-grant", verdicts.StoreIntegrity, false},
		{"useless-release", "bug-names-count-together", "many-names", verdicts.ReleaseSafety, false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			v, ok := catalogue.Find(row.lock)
			if !ok {
				t.Fatalf("no lock %q", row.lock)
			}
			s, err := scenarios.Load(row.scenario)
			if err != nil {
				t.Fatal(err)
			}
			found, needed := false, false
			for seed := uint64(1); seed <= 3 && !needed; seed++ {
				out, err := harness.Run(t.Context(), harness.Experiment{Variant: v, Scenario: s.Resolve(seed, v.Topology), Provider: pool, Seed: seed, Base: t.TempDir(),
					Now: time.Now, Random: rand.Reader})
				if err != nil {
					t.Fatal(err)
				}
				judge := func(opt checker.Options) checker.Result {
					in := checker.Input{Header: out.Record.Header, Ops: history.NewSlice(out.Record.Ops), Commands: out.Record.Commands, Faults: out.Windows}
					if !row.bare {
						log, err := history.LoadServer(filepath.Join(out.Dir, results.ServerFile))
						if err != nil {
							t.Fatal(err)
						}
						in.Effects = log.Events
					}
					v, err := checker.Check(t.Context(), in, opt)
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range v.Properties {
						if p.Name == row.property {
							return p.Verdict
						}
					}
					return ""
				}
				if judge(checker.Options{}) == checker.Fail {
					found = true
					needed = judge(checker.Options{}.Without(row.rule)) != checker.Fail
				}
			}
			if !needed {
				t.Errorf("%s × %s: %s fails: %v, and no run needs the rule", row.lock, row.scenario, row.property, found)
			}
		})
	}
}
