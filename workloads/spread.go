package workloads

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

const zipfExponent = 0.99 // as in YCSB

var spread = &Workload{
	name:    "spread",
	about:   "counters under many keys, chosen by a zipf distribution with exponent 0.99",
	guarded: func(cfg Config) map[string]int64 { return zeros(spreadFormat, cfg.Keys) },
	round: func(ctx context.Context, c *Client, n int) error {
		if c.zipf == nil {
			c.zipf = newZipf(max(c.config.Keys, 1), zipfExponent)
		}
		return c.guardedRound(ctx, guarded{key: spreadKey(drawZipf(c.zipf, c.rand)), think: c.think(), update: increment})
	},
}

const spreadFormat = "key-%d"

func spreadKey(k int) string { return fmt.Sprintf(spreadFormat, k) }

// newZipf returns the weights 1/(rank+1)^s of the ranks 0 to n-1, each with those before it.
func newZipf(n int, s float64) []float64 {
	cumulative := make([]float64, n)
	sum := 0.0
	for i := range cumulative {
		sum += 1 / math.Pow(float64(i+1), s)
		cumulative[i] = sum
	}
	return cumulative
}

// drawZipf draws a rank with a probability proportional to its weight. math/rand/v2's Zipf requires
// s > 1.
func drawZipf(cumulative []float64, r *rand.Rand) int {
	last := len(cumulative) - 1
	u := r.Float64() * cumulative[last]
	return sort.Search(last, func(i int) bool { return cumulative[i] > u })
}
