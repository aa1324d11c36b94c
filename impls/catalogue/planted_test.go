package catalogue

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/verdicts"
)

// TestPlantedBugsBreakWhatTheirLockKeeps: what a scenario must show of a planted bug, it must not show of the lock without the bug, or a bug
// that nothing detected would count as caught. A cell of its own in the suite shows that the lock keeps the property.
func TestPlantedBugsBreakWhatTheirLockKeeps(t *testing.T) {
	for _, v := range Planted() {
		of, _ := Find(v.Planted.Of)
		if len(v.Expect) == 0 {
			t.Errorf("%s: no scenario is to show it", v.Name)
		}
		for scenario, bug := range v.Expect {
			correct, known := of.Expect[scenario]
			if !known || len(bug.Breaks) == 0 {
				t.Errorf("%s in %s: %s expected, and of %s nothing is", v.Name, scenario, bug, of.Name)
			}
			for _, b := range bug.Breaks {
				if slices.ContainsFunc(slices.Concat(correct.Breaks, correct.May), func(c verdicts.Break) bool { return b.Covers(c) }) {
					t.Errorf("%s in %s: %s is what %s shows, too: %s", v.Name, scenario, b, of.Name, correct)
				}
			}
		}
	}
}
