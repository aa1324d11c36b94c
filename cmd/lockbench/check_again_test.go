package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// TestCheckAgreesWithTheRun: the stored record of a run has the violations and causes that the run
// found in it.
func TestCheckAgreesWithTheRun(t *testing.T) {
	cells := []struct{ lock, scenario, seed string }{
		{"set-nx-ex", "pause-holder", "1"},              // a violation of nearly every property
		{"redlock", "slow-work", "1"},                   // votes
		{"rw-hash", "read-mostly", "1"},                 // two modes
		{"bug-chained-deadlines", "nested", "91001"},    // order
		{"bug-short-inner-lease", "failover-held", "2"}, // commands to the store at the instant of an acquire
		{"bug-quorum-of-half", "failover", "91001"},     // none to the lock's node
		// commands of operations only: none can have renewed in the background
		{"token-session", "nested", "93001"},
	}
	for _, c := range cells {
		t.Run(c.lock+" "+c.scenario, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.runner, w.providers = harness.Run, providers
			dir := t.TempDir()
			w.call(t, "run", "--server", "sim", "--lock", c.lock, "--scenario", c.scenario, "--seed", c.seed, "--out", dir)
			told := causesTold(t, filepath.Join(dir, "latest", "violations"))
			if w = newWorld(checker.Pass); w.call(t, "check", filepath.Join(dir, "latest"), "-o", "json") != exitViolated || len(told) == 0 {
				t.Fatalf("%d violations told\n%s%s", len(told), w.out, w.err)
			}
			if strings.Contains(w.out.String(), "latest") {
				t.Errorf("what repeats it names the latest run, which is another tomorrow:\n%s", w.out)
			}
			var r results.Result
			must(t, json.Unmarshal([]byte(w.out.String()), &r))
			if said := strings.Join(r.Notes, "\n"); !strings.Contains(said, "the record is of one of the ") {
				t.Errorf("check says of the record of one schedule %q", said)
			}
			var broken []string
			for _, p := range r.Properties {
				if p.Verdict != checker.Fail {
					continue
				}
				broken = append(broken, string(p.Name))
				for cause := range told[string(p.Name)] {
					if p.Causes[cause] == 0 {
						t.Errorf("%s: check has the causes %v, the run had %s", p.Name, p.Causes, cause)
					}
				}
			}
			if had := slices.Sorted(maps.Keys(told)); !slices.Equal(had, slices.Sorted(slices.Values(broken))) {
				t.Errorf("check says that %v are broken, the run that %v", broken, had)
			}
		})
	}
}

// causesTold returns the causes in the stored violations of a run, by property.
func causesTold(t *testing.T, dir string) map[string]map[verdicts.Cause]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	must(t, err)
	head := regexp.MustCompile(`^(\S+) broken by (\S+)`)
	told := map[string]map[verdicts.Cause]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		m := head.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s does not begin with what is broken: %s", f, text)
		}
		if told[string(m[1])] == nil {
			told[string(m[1])] = map[verdicts.Cause]bool{}
		}
		told[string(m[1])][verdicts.Cause(m[2])] = true
	}
	return told
}
