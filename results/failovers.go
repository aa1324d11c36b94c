package results

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Failovers is how often a promoted replica had the lock's key, among the failovers of which that is known.
type Failovers struct {
	Count int        `json:"count"`
	Had   int        `json:"replica_had_key"`
	CI95  [2]float64 `json:"ci95"` // of the share of Had, Clopper-Pearson
}

// CountFailovers counts those of fault windows. It is nil when there are none.
func CountFailovers(windows []history.Window) *Failovers {
	var f Failovers
	for _, w := range windows {
		if w.Confirmed && w.Replica != "" {
			f.Count++
			if w.Replica == history.HadKey {
				f.Had++
			}
		}
	}
	return f.orNil()
}

// SumFailovers adds up; nil means none.
func SumFailovers(all ...*Failovers) *Failovers {
	var sum Failovers
	for _, f := range all {
		if f != nil {
			sum.Count += f.Count
			sum.Had += f.Had
		}
	}
	return sum.orNil()
}

func (f Failovers) orNil() *Failovers {
	if f.Count == 0 {
		return nil
	}
	f.CI95 = checker.Confidence(f.Had, f.Count)
	return &f
}

// Share is the part that had it, 0 to 1.
func (f Failovers) Share() float64 { return float64(f.Had) / float64(f.Count) }
