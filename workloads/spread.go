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
	rounds: func(c *Client) func(ctx context.Context, n int) error {
		z := newZipf(max(c.config.Keys, 1), zipfExponent)
		return func(ctx context.Context, n int) error {
			return c.guardedRound(ctx, guarded{key: spreadKey(z.draw(c.rand)), think: c.think(), update: increment})
		}
	},
}

const spreadFormat = "key-%d"

func spreadKey(k int) string { return fmt.Sprintf(spreadFormat, k) }

// zipf draws ranks 0..n-1 with probability proportional to 1/(rank+1)^s. math/rand/v2's Zipf
// requires s > 1.
type zipf struct{ cumulative []float64 }

func newZipf(n int, s float64) zipf {
	c := make([]float64, n)
	sum := 0.0
	for i := range c {
		sum += 1 / math.Pow(float64(i+1), s)
		c[i] = sum
	}
	return zipf{c}
}

func (z zipf) draw(r *rand.Rand) int {
	u := r.Float64() * z.cumulative[len(z.cumulative)-1]
	last := len(z.cumulative) - 1
	return sort.Search(last, func(i int) bool { return z.cumulative[i] > u })
}
