package main

import (
	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// together summarizes the runs of each lock, in the order of their first run: the median of each figure, with its interval if there are enough.
func together(all []results.Result) (rows []report.RunsRow) {
	byLock := map[string][]results.Result{}
	for _, r := range all {
		if byLock[r.Lock] == nil {
			rows = append(rows, report.RunsRow{Lock: r.Lock, Figures: map[string]results.Figure{}})
		}
		byLock[r.Lock] = append(byLock[r.Lock], r)
	}
	for i := range rows {
		row, runs := &rows[i], byLock[rows[i].Lock]
		row.Runs, row.Verdicts = len(runs), map[checker.Result]int{}
		values := map[string][]float64{}
		for _, r := range runs {
			row.Verdicts[r.Verdict]++
			for name, m := range r.Values() {
				if m.Value != nil {
					values[name] = append(values[name], *m.Value)
				}
			}
		}
		for name, of := range values {
			m, _ := results.FindMetric(name)
			f := results.Figure{Unit: m.Unit}
			f.Value, f.Low, f.High = bench.Summary(of)
			row.Figures[name] = f
		}
	}
	return rows
}
