package workloads

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// spread: counters under many keys, chosen by a zipf distribution with exponent 0.99, as YCSB does.
type spread struct{}

const zipfExponent = 0.99

func (spread) Name() string { return "spread" }
func (spread) About() string {
	return "counters under many keys, chosen by a zipf distribution with exponent 0.99"
}
func (spread) Prepare(context.Context, Store, Config) error { return nil }

func (spread) Guarded(cfg Config) map[string]int64 {
	keys := map[string]int64{}
	for k := range max(cfg.Keys, 1) {
		keys[spreadKey(k)] = 0
	}
	return keys
}

func (spread) Run(ctx context.Context, c *Client) error {
	z := newZipf(max(c.Config.Keys, 1), zipfExponent)
	return c.rounds(ctx, func(ctx context.Context, n int) error {
		return c.guardedRound(ctx, guarded{key: spreadKey(z.draw(c.Rand)), think: c.think(),
			update: increment})
	})
}

func spreadKey(k int) string { return fmt.Sprintf("key-%d", k) }

// zipf draws ranks 0..n-1 with probability proportional to 1/(rank+1)^s, by the inverse of the cumulative
// distribution. math/rand/v2's Zipf needs s > 1; the usual benchmark exponent is below.
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
	lo, hi := 0, len(z.cumulative)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if z.cumulative[mid] > u {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
