package faults

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestEveryKindSaysWhatItDoes: a record without a word of what its faults do is read by their
// names, and each kind that the Director injects says it.
func TestEveryKindSaysWhatItDoes(t *testing.T) {
	for _, k := range Kinds() {
		if k.Does == 0 {
			t.Errorf("%s does nothing", k.Name)
		}
	}
	windows := []history.Window{{Fault: KillServer}, {Fault: KillServer, Does: history.Stops}, {Fault: "quake"}}
	Describe(windows)
	if !windows[0].Does.Any(history.LosesData) || windows[1].Does != history.Stops || windows[2].Does != 0 {
		t.Errorf("described as %v, %v, %v", windows[0].Does.Words(), windows[1].Does.Words(), windows[2].Does.Words())
	}
}
