package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// sample holds the values of one metric on one side.
type sample struct {
	figure results.Figure
	values []float64 // the compared values: figures, or their ratios to the reference
}

// place is a lock in a setting or a scenario.
type place struct{ lock, setting string }

// side is one side of a comparison.
type side struct {
	places   []place // in order
	verdicts map[place]checker.Result
	samples  map[place]map[string]sample
	open     map[place]bool // its rounds begin by a plan
	relative bool
	speed    map[string]float64 // relative: the reference's throughput, by setting
}

func newSide() side {
	return side{verdicts: map[place]checker.Result{}, samples: map[place]map[string]sample{}, open: map[place]bool{}, speed: map[string]float64{}}
}

func benchSide(b results.Bench, relative bool) side {
	s := newSide()
	s.relative = relative
	reference := map[results.BenchSetting]results.BenchCell{}
	for _, c := range b.Cells {
		if c.Reference {
			reference[c.Setting] = c
			if v := c.Figures["throughput"].Value; v != nil {
				s.speed[c.Setting.String()] = *v
			}
			continue
		}
		at := place{c.Lock, c.Setting.String()}
		s.places, s.verdicts[at], s.open[at] = append(s.places, at), c.Verdict, c.Setting.Rate > 0
		s.samples[at] = map[string]sample{}
		for name, f := range c.Figures {
			s.samples[at][name] = sample{f, comparedValues(f, reference[c.Setting].Figures[name], relative)}
		}
	}
	return s
}

// comparedValues returns the figure's values; for a relative comparison, times and rates are
// divided by the reference's.
func comparedValues(f, reference results.Figure, relative bool) (out []float64) {
	timed := f.Unit == results.Nanoseconds || f.Unit == results.PerSecond
	if !relative || !timed || len(reference.Values) != len(f.Values) {
		return known(f.Values)
	}
	for i, v := range f.Values {
		if unit := reference.Values[i]; v != nil && unit != nil && *unit > 0 {
			out = append(out, *v / *unit)
		}
	}
	return out
}

func planText(p results.BenchPlan) string {
	text := fmt.Sprintf("lease %v, %v each", p.Lease, p.Measure.Round(time.Millisecond))
	if !p.Relay {
		text += ", greedy"
	}
	if p.Pace != "" {
		text += ", " + p.Pace + " pace"
	}
	if p.Scenario != "" {
		text += ", faults of " + p.Scenario
	}
	return text
}

func hasReference(b results.Bench) bool {
	return slices.ContainsFunc(b.Cells, func(c results.BenchCell) bool { return c.Reference && c.Figures["throughput"].Value != nil })
}

// Ran is a run to compare: its record, and its result, nil if it has none.
type Ran struct {
	Run    results.Run
	Result *results.Result
}

func runSide(all []Ran) side {
	s := newSide()
	verdicts := map[place][]checker.Result{}
	values := map[place]map[string][]float64{}
	for _, r := range all {
		at := place{r.Run.Lock, r.Run.Scenario}
		if _, known := verdicts[at]; !known {
			s.places, values[at] = append(s.places, at), map[string][]float64{}
		}
		if r.Result == nil {
			verdicts[at] = append(verdicts[at], checker.Inconclusive)
			continue
		}
		verdicts[at], s.open[at] = append(verdicts[at], r.Result.Verdict), r.Result.Load.Open
		for name, m := range r.Result.Values() {
			if m.Value != nil {
				values[at][name] = append(values[at][name], *m.Value)
			}
		}
	}
	for at, v := range verdicts {
		s.verdicts[at], s.samples[at] = results.WorstSafety(v), map[string]sample{}
		for name, all := range values[at] {
			m, err := results.FindMetric(name)
			if err != nil {
				continue
			}
			f := results.Figure{Unit: m.Unit, Samples: int64(len(all))}
			f.Value, f.Low, f.High = summary(all)
			s.samples[at][name] = sample{f, all}
		}
	}
	return s
}
