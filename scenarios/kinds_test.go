package scenarios_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
)

// TestEveryKindIsTriedAsWhatItIs: of each kind of lock that is more than a mutex, a suite runs
// scenarios in which it is.
func TestEveryKindIsTriedAsWhatItIs(t *testing.T) {
	more := map[history.Kind]func(scenarios.Scenario) bool{
		history.Reentrant: func(s scenarios.Scenario) bool { return s.Workload == "nested" },
		history.RW:        func(s scenarios.Scenario) bool { return s.Workload == "read-mostly" },
		history.Semaphore: func(s scenarios.Scenario) bool { return s.Permits > 1 && s.Clients > s.Permits },
	}
	for kind, fits := range more {
		tried := false
		for _, v := range catalogue.Locks() {
			tried = tried || v.Kind == kind && slices.ContainsFunc(scenarios.Builtin(), func(s scenarios.Scenario) bool {
				e, expected := v.Expect[s.Name]
				return expected && e.NA == "" && fits(s)
			})
		}
		if !tried {
			t.Errorf("no %s lock meets a scenario in which it is more than a mutex", kind)
		}
	}
}
