package harness

import (
	"os"
	"slices"
	"testing"
)

// TestTenInARow runs scenarios whose faults are placed by events ten times each on real servers: every run must come to the one verdict
// that the catalogue expects. It takes minutes: LOCKBENCH_SOAK asks for it.
func TestTenInARow(t *testing.T) {
	if os.Getenv("LOCKBENCH_SOAK") == "" {
		t.Skip("takes minutes; set LOCKBENCH_SOAK")
	}
	inARow := func(names ...string) []string { return slices.Repeat(names, 10) }
	cells(t, provider(t, "process"), Goroutines, 1, map[string][]string{
		"set-nx-ex":     inARow("pause-holder"),                                          // inside the section
		"token":         inARow("pause-holder", "kill-server", "failover", "clock-jump"), // the same without a mis-unlock; servers, when somebody has entered
		"token-get-del": inARow("pause-before-release"),                                  // between two commands of one operation
		"setnx-expire":  inARow("crash-mid-acquire"),                                     // a death between two commands
		"redlock":       inARow("pause-after-grant"),                                     // replies that are there and not seen
	})
}
