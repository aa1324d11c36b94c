package catalogue

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/verdicts"
)

// TestPlantedBugsBreakWhatTheirLockKeeps: a scenario must not show for the correct lock what it
// must show for the planted bug; otherwise an undetected bug would count as caught. The suite
// checks in another cell that the lock keeps the property.
func TestPlantedBugsBreakWhatTheirLockKeeps(t *testing.T) {
	for _, v := range Planted() {
		of, _ := Find(v.Planted.Of)
		if len(v.Expect) == 0 {
			t.Errorf("%s: no scenario must show it", v.Name)
		}
		for scenario, bug := range v.Expect {
			correct, known := of.Expect[scenario]
			if !known || len(bug.Breaks) == 0 {
				t.Errorf("%s in %s: %s expected, and of %s nothing is", v.Name, scenario, bug, of.Name)
			}
			for _, b := range bug.Breaks {
				if slices.ContainsFunc(slices.Concat(correct.Breaks, correct.May), func(c verdicts.Break) bool { return b.Covers(c) }) {
					t.Errorf("%s in %s: %s is also expected of %s: %s", v.Name, scenario, b, of.Name, correct)
				}
			}
		}
	}
}
