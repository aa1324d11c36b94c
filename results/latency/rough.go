package latency

import (
	"math/bits"
	"time"
)

// Rough is a distribution for live display, precise to one eighth, which costs a client one
// addition. Final results come from the samples.
type Rough struct {
	counts [roughSteps]uint32
	total  uint64
}

const (
	roughBits  = 3 // of precision below the highest
	roughSteps = (64 - roughBits) << roughBits
)

func (r *Rough) add(v int64) {
	r.counts[roughStep(uint64(max(v, 0)))]++
	r.total++
}

// roughStep returns v below 8; above, its power of two and the three bits after the highest.
func roughStep(v uint64) int {
	shift := max(bits.Len64(v)-roughBits-1, 0)
	return shift<<roughBits + int(v>>shift)
}

// roughFloor returns the smallest value of a step.
func roughFloor(step int) uint64 {
	shift := max(step>>roughBits-1, 0)
	return uint64(step-shift<<roughBits) << shift
}

// Quantile returns the value that a share q of the samples does not exceed; 0 without samples.
func (r *Rough) Quantile(q float64) time.Duration {
	rank := uint64(q * float64(r.total))
	var seen uint64
	for i, n := range r.counts {
		if seen += uint64(n); n > 0 && seen >= max(rank, 1) {
			return time.Duration(roughFloor(i))
		}
	}
	return 0
}

// Live returns the distribution of one operation so far, from its intended start. It may be called
// while clients record.
func Live(op string, recorders ...*Recorder) *Rough {
	all := &Rough{}
	for _, r := range recorders {
		r.mu.Lock()
		for n, name := range r.ops {
			if name != op {
				continue
			}
			for i, count := range r.live[n].counts {
				all.counts[i] += count
			}
			all.total += r.live[n].total
		}
		r.mu.Unlock()
	}
	return all
}
