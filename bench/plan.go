package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

// turn is one lock in one setting for one repetition.
type turn struct {
	Repetition int // from 1
	Lock       int // index into the locks
	Setting    results.BenchSetting
}

// planTurns lists the turns in their order: by repetition, by setting, and within those every lock
// once, in an order drawn from the seed.
func planTurns(seed uint64, repetitions, locks int, settings []results.BenchSetting) []turn {
	order := rand.New(rand.NewPCG(seed, orderStream))
	out := make([]turn, 0, repetitions*locks*len(settings))
	for r := range repetitions {
		for _, s := range settings {
			for _, l := range order.Perm(locks) {
				out = append(out, turn{Repetition: r + 1, Lock: l, Setting: s})
			}
		}
	}
	return out
}

// orderStream separates the random numbers of the order from those that plans and clients draw from
// the same seed.
const orderStream = 0x6f726465

// plan lists every setting: all combinations, and the one with crashes. No rate means a closed
// loop; a search for the knee varies it by itself.
func (c Config) plan() (all []results.BenchSetting) {
	rates := c.Rates
	if c.Find != nil || len(rates) == 0 {
		rates = []float64{0}
	}
	for _, k := range c.Keys {
		for _, h := range c.Holds {
			for _, n := range c.Clients {
				for _, r := range rates {
					all = append(all, results.BenchSetting{Clients: n, Keys: k, Hold: h, Rate: r})
				}
			}
		}
	}
	if c.Crash && c.Find == nil {
		most := slices.Max(append([]int{leastCrowd}, c.Clients...))
		all = append(all, results.BenchSetting{Clients: most, Keys: 1, Hold: 10 * time.Millisecond, Crash: true})
	}
	return all
}

// settings lists the settings of the shard. Each is measured whole, so that the compared locks run
// on the same machine.
func (c Config) settings() (mine []results.BenchSetting) {
	for i, s := range c.plan() {
		if c.Shard == nil || c.Shard.Has(i) {
			mine = append(mine, s)
		}
	}
	return mine
}

// shard returns the shard with a description of the whole plan; nil for the whole.
func (c Config) shard() *results.Shard {
	if c.Shard == nil {
		return nil
	}
	s, all := *c.Shard, c.plan()
	plan := []string{fmt.Sprintf("%v %v %d %v %s %s", c.measure(), c.warmUp(), c.Repetitions, c.Lease, c.Pace, c.Scenario)}
	for _, v := range c.Locks {
		plan = append(plan, v.Name)
	}
	for _, setting := range all {
		plan = append(plan, setting.String())
	}
	s.Of, s.Plan = len(all), results.PlanDigest(plan)
	return &s
}

// Steps returns n rates from low to high in equal ratios, rounded to three digits.
func Steps(low, high float64, n int) []float64 {
	out := make([]float64, 0, n)
	for i := range n {
		share := 0.0
		if n > 1 {
			share = float64(i) / float64(n-1)
		}
		out = append(out, threeDigits(low*math.Pow(high/low, share)))
	}
	return out
}

// turnOverhead is the approximate time of a turn besides warm-up and measuring: connections, and
// the check of the record.
const turnOverhead = 250 * time.Millisecond

// Estimate returns the approximate duration of the turns.
func (c Config) Estimate() time.Duration {
	turns := time.Duration(c.Repetitions * len(c.Locks))
	if c.Reference == "" {
		turns += time.Duration(c.Repetitions) // the bare loop's
	}
	var sum time.Duration
	for _, s := range c.settings() {
		each := c.measure() + c.warmUp()
		switch {
		case s.Crash:
			each = 2 * crashLease
		case c.Find != nil:
			each *= typicalSteps
		}
		sum += turns * (each + turnOverhead)
	}
	return sum
}
