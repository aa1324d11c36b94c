package bench

import (
	"fmt"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// CheckGates checks every measured cell but the reference's against the limits.
func CheckGates(b results.Bench, gates []results.Gate) (out []results.GateResult) {
	for _, c := range b.Cells {
		if c.Reference || c.Verdict == checker.NotApplicable || c.Setting.Crash {
			continue
		}
		for _, g := range gates {
			f := c.Figures[g.Metric.Name]
			why := "it was not measured"
			if f.Need > 0 {
				why = fmt.Sprintf("%d of %d samples needed", f.Samples, f.Need)
			}
			r := g.Check(f.Value, why)
			r.Lock, r.Setting = c.Lock, c.Setting.String()
			out = append(out, r)
		}
	}
	return out
}
