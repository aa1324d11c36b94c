package results

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/binomial"
)

// Failovers counts how often a promoted replica had the lock's key, among the failovers where that
// is known.
type Failovers struct {
	Count int        `json:"count"`
	Had   int        `json:"replica_had_key"`
	CI95  [2]float64 `json:"ci95"` // Clopper-Pearson interval of Had/Count
}

// CountFailovers counts the failovers in fault windows; nil if there are none.
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

// SumFailovers returns the sum; nil means none.
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
	f.CI95 = binomial.Interval(f.Had, f.Count)
	return &f
}

// Share returns Had/Count, 0 to 1.
func (f Failovers) Share() float64 { return float64(f.Had) / float64(f.Count) }
