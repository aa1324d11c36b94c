package bench

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// taken is a turn and its result.
type taken struct {
	turn
	Figures map[string]figureSample
	Verdict *checker.Verdict // nil: the turn was not run, and Err says why
	Errors  []results.ErrorCount
	Err     error
}

// aggregate returns a cell for every lock in every setting. names are the locks' names by index; the reference's cell comes first in its setting,
// and the ratios of the others are to it.
func aggregate(taken []taken, names []string, reference string, settings []results.BenchSetting, repetitions int) []results.BenchCell {
	var cells []results.BenchCell
	for _, s := range settings {
		var row []results.BenchCell
		for lock, name := range names {
			if s.Crash && name == bareName {
				continue
			}
			c := newCell(name, s, turnsOf(taken, lock, s), repetitions)
			c.Reference = name == reference
			row = append(row, c)
		}
		slices.SortStableFunc(row, func(a, b results.BenchCell) int { return cmp.Compare(rank(a), rank(b)) })
		addRatios(row)
		cells = append(cells, row...)
	}
	return cells
}

// rank sorts the reference first.
func rank(c results.BenchCell) int {
	if c.Reference {
		return 0
	}
	return 1
}

func turnsOf(taken []taken, lock int, s results.BenchSetting) (out []taken) {
	for _, t := range taken {
		if t.Lock == lock && t.Setting == s {
			out = append(out, t)
		}
	}
	return out
}

func newCell(lock string, s results.BenchSetting, turns []taken, repetitions int) results.BenchCell {
	c := results.BenchCell{Lock: lock, Setting: s, Verdict: checker.NotApplicable, Figures: map[string]results.Figure{}}
	var verdicts []checker.Result
	for _, t := range turns {
		if t.Err != nil {
			c.Why = t.Err.Error()
		}
		if t.Verdict == nil {
			continue
		}
		verdicts = append(verdicts, t.Verdict.Verdict)
		c.Errors = results.AddErrors(c.Errors, t.Errors)
		addBreaks(&c, t.Verdict)
	}
	if len(verdicts) > 0 {
		c.Verdict = results.WorstSafety(verdicts)
	}
	for name := range metricsOf(turns) {
		c.Figures[name] = newFigure(name, turns, repetitions)
	}
	return c
}

func metricsOf(turns []taken) map[string]bool {
	out := map[string]bool{}
	for _, t := range turns {
		for name := range t.Figures {
			out[name] = true
		}
	}
	return out
}

// newFigure returns the median of one metric over the repetitions. If no repetition has enough samples for a percentile but all together have, it
// is taken over all samples, without an interval.
func newFigure(name string, turns []taken, repetitions int) results.Figure {
	m, _ := results.FindMetric(name)
	f := results.Figure{Unit: m.Unit, Values: make([]*float64, repetitions)}
	var values []float64
	var pool []float64
	for _, t := range turns {
		s := t.Figures[name]
		f.Samples += s.Count
		f.Values[t.Repetition-1] = s.Value
		if s.Value != nil {
			values = append(values, *s.Value)
			f.Highest = max(f.Highest, *s.Value)
		}
		pool = append(pool, s.Raw...)
	}
	if len(values) == len(turns) || len(values) >= leastForInterval {
		f.Value, f.Low, f.High = Summary(values)
		return f
	}
	f.Values, f.Highest = nil, 0
	q, need, isQuantile := quantileOf(name)
	if isQuantile && int64(len(pool)) >= need && len(values) == 0 {
		slices.Sort(pool)
		v := quantile(pool, q)
		f.Value, f.Pooled = &v, true
		return f
	}
	f.Need = samplesNeeded(turns, name, max(need, 1))
	return f
}

// samplesNeeded returns how many samples the turns need together so that each has its share; a turn's surplus does not help another.
func samplesNeeded(turns []taken, name string, each int64) (sum int64) {
	for _, t := range turns {
		sum += max(each, t.Figures[name].Count)
	}
	return sum
}

func quantileOf(metric string) (q float64, need int64, ok bool) {
	for _, p := range results.Quantiles() {
		if len(metric) > len(p) && metric[len(metric)-len(p)-1:] == "."+p {
			return results.Quantile(p)
		}
	}
	return 0, 0, false
}

func addBreaks(c *results.BenchCell, v *checker.Verdict) {
	for _, p := range v.Properties {
		if p.Name == verdicts.MutualExclusion {
			c.Judged += p.Opportunities
		}
		if p.Verdict != checker.Fail {
			continue
		}
		i := slices.IndexFunc(c.Breaks, func(b results.BenchBreak) bool { return b.Property == p.Name })
		if i < 0 {
			i = len(c.Breaks)
			c.Breaks = append(c.Breaks, results.BenchBreak{Property: p.Name, Causes: map[verdicts.Cause]int{}})
		}
		b := &c.Breaks[i]
		b.Violations += p.Violations
		for _, cause := range slices.Sorted(maps.Keys(p.Causes)) {
			b.Causes[cause] += p.Causes[cause]
		}
		if p.First != nil && len(b.Story) == 0 {
			b.Story = p.First.Story
		}
	}
}

// addRatios sets the ratios of one setting's cells to its reference.
func addRatios(row []results.BenchCell) {
	if len(row) == 0 || !row[0].Reference {
		return
	}
	for i := range row[1:] {
		c := &row[i+1]
		for name, f := range c.Figures {
			f.Ratio = ratio(f.Values, row[0].Figures[name].Values)
			c.Figures[name] = f
		}
	}
}
