package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// rateSearch finds the highest rate within a limit: it doubles the rate until one exceeds the
// limit, and bisects, by ratio, to within a tenth.
type rateSearch struct {
	rate   float64 // to try; the lowest first
	within float64 // highest that did; 0: none yet
	beyond float64 // lowest that did not; 0: none yet
	high   float64 // the highest to try; 0: no bound
	done   bool
}

const precision = 1.1

// record reports to the search whether its rate stayed within the limit.
func (s *rateSearch) record(within bool) {
	if within {
		s.within = max(s.within, s.rate)
	} else {
		s.beyond = s.rate
	}
	switch {
	case s.within == 0: // not even the lowest
		s.done = true
	case s.beyond == 0 && s.high > 0 && s.within >= s.high:
		s.done = true
	case s.beyond == 0:
		s.rate = 2 * s.within
		if s.high > 0 {
			s.rate = min(s.rate, s.high)
		}
	case s.beyond/s.within <= precision:
		s.done = true
	default:
		s.rate = threeDigits(math.Sqrt(s.within * s.beyond))
	}
}

// found returns the knee, 0 if even the lowest rate exceeded the limit; open reports whether no
// rate that was tried exceeded it.
func (s *rateSearch) found() (rate float64, open bool) {
	return s.within, s.within > 0 && s.beyond == 0
}

// typicalSteps is the approximate number of rates that a search tries.
const typicalSteps = 9

// leastMet is the share of the offered rate that a lock must complete: one that falls behind may
// have good first percentiles.
const leastMet = 0.95

// findAll searches for the knee of every lock in every setting, in every repetition.
func (b *bench) findAll(ctx context.Context, settings []results.BenchSetting) error {
	b.of = b.Repetitions * len(settings) * len(b.Locks) * typicalSteps
	rates := map[turn][]results.KneeStep{}
	found := map[turn][]float64{}
	bounded := map[turn]bool{} // in some repetition
	for _, t := range planTurns(b.Seed, b.Repetitions, len(b.Locks), settings) {
		place := turn{Lock: t.Lock, Setting: t.Setting}
		if b.over(ctx) || b.hopeless(place) {
			continue
		}
		search := b.find(ctx, t, func(k results.KneeStep) { rates[place] = append(rates[place], k) })
		rate, unbounded := search.found()
		found[place] = append(found[place], rate)
		bounded[place] = bounded[place] || !unbounded
	}
	for _, s := range settings {
		for l, v := range b.Locks {
			place := turn{Lock: l, Setting: s}
			k := results.Knee{Lock: v.Name, Setting: s, Limit: b.Find.Text, Open: len(found[place]) > 0 && !bounded[place], Steps: rates[place],
				Rate: results.Figure{Unit: results.PerSecond, Samples: int64(len(found[place]))}}
			k.Rate.Value, k.Rate.Low, k.Rate.High = summary(found[place])
			b.knees = append(b.knees, k)
		}
	}
	return ctx.Err()
}

func (b *bench) find(ctx context.Context, t turn, tried func(results.KneeStep)) *rateSearch {
	low, high, err := b.SearchRange()
	s := &rateSearch{rate: low, high: high, done: err != nil}
	for !s.done && !b.over(ctx) {
		at := t
		at.Setting.Rate = s.rate
		done := b.take(ctx, at)
		step := results.KneeStep{Repetition: t.Repetition, Offered: s.rate, Value: done.Figures[b.Find.Metric.Name].Value}
		if v := done.Figures["throughput"].Value; v != nil {
			step.Achieved = *v
		}
		step.Within = b.Find.Check(results.Figure{Value: step.Value}).Verdict == checker.Pass && step.Achieved >= leastMet*step.Offered
		tried(step)
		done.Setting.Rate, done.Figures = 0, map[string]figureSample{"throughput": done.Figures["throughput"]}
		b.taken = append(b.taken, done) // so that its verdict counts
		s.record(step.Within)
		if done.Err != nil {
			break
		}
	}
	return s
}

// SearchRange returns the first rate of a search and the highest that it tries, 0 for no bound:
// those of Rates, with enough rounds in a repetition for the limit's percentile. It returns an
// error if not even the highest gives those.
func (c Config) SearchRange() (low, high float64, err error) {
	need := c.Find.Metric.Need
	low = threeDigits(1.2 * float64(need) / c.measure().Seconds())
	if len(c.Rates) == 0 {
		return max(50, low), 0, nil
	}
	low, high = max(c.Rates[0], low), c.Rates[len(c.Rates)-1]
	if low > high {
		return 0, 0, fmt.Errorf("%s needs %d samples in each of %d repetitions of %v, and %v/s give too few: a longer duration or fewer repetitions give more",
			c.Find.Metric.Name, need, c.Repetitions, c.measure(), high)
	}
	return low, high, nil
}
