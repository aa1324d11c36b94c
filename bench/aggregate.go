package bench

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

type taken struct {
	turn
	Figures map[string]figureSample
	Shape   *shape           // nil: nothing was measured
	Verdict *checker.Verdict // nil: the turn was not run, and Err says why
	Errors  []results.ErrorCount
	Err     error
}

// aggregate returns a cell for every lock in every setting of a plan. names are the locks' names by
// index; the reference's cell comes first in its setting, and the ratios of the others are to it.
func aggregate(all []taken, names []string, p results.BenchPlan) []results.BenchCell {
	var cells []results.BenchCell
	for _, s := range p.Settings {
		var row []results.BenchCell
		for lock, name := range names {
			if s.Crash && name == bareName {
				continue
			}
			turns := slices.DeleteFunc(slices.Clone(all), func(t taken) bool { return t.Lock != lock || t.Setting != s })
			c := newCell(name, s, turns, p.Repetitions)
			addShapes(&c, turns, int64(p.Measure))
			if c.Reference = name == p.Reference; c.Reference {
				row = slices.Insert(row, 0, c)
				continue
			}
			row = append(row, c)
		}
		for i := 1; i < len(row) && row[0].Reference; i++ {
			for name, f := range row[i].Figures {
				f.Ratio = ratio(f.Values, row[0].Figures[name].Values)
				row[i].Figures[name] = f
			}
		}
		cells = append(cells, row...)
	}
	return cells
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
	for _, t := range turns {
		for name := range t.Figures {
			if _, done := c.Figures[name]; !done {
				c.Figures[name] = newFigure(name, turns, repetitions)
			}
		}
	}
	return c
}

// newFigure returns the median of one metric over the repetitions. If too few repetitions have
// enough samples for a percentile but all together have, it is taken over all samples, without an
// interval.
func newFigure(name string, turns []taken, repetitions int) results.Figure {
	m, _ := results.FindMetric(name)
	f := results.Figure{Unit: m.Unit, Values: make([]*float64, repetitions)}
	var values, pool []float64
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
		f.Value, f.Low, f.High = summary(values)
		return f
	}
	f.Values, f.Highest = nil, 0
	q, need, isQuantile := results.Quantile(name[strings.LastIndex(name, ".p")+1:])
	if n := int64(len(pool)); isQuantile && n >= need && n == f.Samples {
		slices.Sort(pool)
		v := quantile(pool, q)
		f.Value, f.Pooled = &v, true
		return f
	}
	for _, t := range turns {
		f.Need += max(need, 1, t.Figures[name].Count) // a turn's surplus does not help another
	}
	return f
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
		for cause, n := range p.Causes {
			b.Causes[cause] += n
		}
		if p.First != nil && len(b.Story) == 0 {
			b.Story = p.First.Story
		}
	}
}
