package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Measure is one figure of a run or a bench, for dashboards.
type Measure struct {
	Of     string  // lock and setting
	Name   string  // of a metric, or violations
	Unit   string  // of the metric, or "" for a count
	Value  float64 // in that unit
	Low    float64 // 95 % interval, if HasCI
	High   float64
	HasCI  bool
	Bigger bool // bigger is better
}

// RunMeasures returns the metrics of a run that have a value, and its violations.
func RunMeasures(r results.Result) []Measure {
	r = Clean(r)
	of, values := r.Lock+" × "+scenarioOf(r), r.Values()
	var out []Measure
	for _, m := range results.Metrics() {
		if v := values[m.Name].Value; v != nil {
			out = append(out, Measure{Of: of, Name: m.Name, Unit: string(m.Unit), Value: *v, Bigger: m.Higher})
		}
	}
	violations := 0
	for _, p := range r.Properties {
		if p.Verdict == checker.Fail {
			violations += p.Violations
		}
	}
	return append(out, Measure{Of: of, Name: "violations", Value: float64(violations)})
}

// GitHubBenchmark writes measures in the format "customSmallerIsBetter" of github-action-benchmark.
// As it has one direction for all, a throughput becomes a time per operation in milliseconds, and a
// share or an index of at most 1 becomes what it lacks to 1.
func GitHubBenchmark(w io.Writer, measures []Measure) error {
	type entry struct {
		Name  string  `json:"name"`
		Unit  string  `json:"unit"`
		Value float64 `json:"value"`
		Range string  `json:"range,omitempty"`
	}
	out := []entry{}
	for _, m := range measures {
		switch {
		case m.Bigger && m.Unit != string(results.PerSecond):
			m.Name, m.Value, m.Low, m.High = m.Name+", short of 1", 1-m.Value, 1-m.High, 1-m.Low
		case m.Bigger && m.Value <= 0:
			continue
		case m.Bigger:
			m.Name, m.Unit, m.Value, m.Low, m.High = "time per "+m.Name, "ms", 1e3/m.Value, perOne(m.High), perOne(m.Low)
		}
		e := entry{Name: m.Of + ": " + m.Name, Unit: cmp.Or(m.Unit, "count"), Value: m.Value}
		if m.HasCI {
			e.Range = fmt.Sprintf("± %s", digits((m.High-m.Low)/2))
		}
		out = append(out, e)
	}
	return writeIndented(w, out)
}

func perOne(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	return 1e3 / rate
}

// Bencher writes measures in Bencher's metric format.
func Bencher(w io.Writer, measures []Measure) error {
	type metric struct {
		Value float64  `json:"value"`
		Lower *float64 `json:"lower_value,omitempty"`
		Upper *float64 `json:"upper_value,omitempty"`
	}
	out := map[string]map[string]metric{}
	for _, m := range measures {
		if out[m.Of] == nil {
			out[m.Of] = map[string]metric{}
		}
		one := metric{Value: m.Value}
		if m.HasCI {
			one.Lower, one.Upper = &m.Low, &m.High
		}
		name := m.Name
		if m.Unit != "" {
			name += " (" + m.Unit + ")"
		}
		out[m.Of][name] = one
	}
	return writeIndented(w, out)
}

func writeIndented(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// RunCSV writes a run's properties and figures, one per row.
func RunCSV(w io.Writer, r results.Result) error {
	r = Clean(r)
	rows := [][]string{{"lock", "scenario", "what", "name", "value", "unit"}}
	add := func(what, name, value, unit string) {
		rows = append(rows, []string{r.Lock, scenarioOf(r), what, name, value, unit})
	}
	add("verdict", "run", string(r.Verdict), "")
	for _, p := range r.Properties {
		add("property", string(p.Name), string(p.Verdict), "")
		if p.Verdict == checker.Pass || p.Verdict == checker.Fail {
			add("violations", string(p.Name), strconv.Itoa(p.Violations), "")
			add("opportunities", string(p.Name), strconv.Itoa(p.Opportunities), "")
		}
	}
	for _, m := range RunMeasures(r) {
		add("measure", m.Name, strconv.FormatFloat(m.Value, 'g', -1, 64), m.Unit)
	}
	return writeCSV(w, rows)
}

// SuiteCSV writes a suite, a cell per row.
func SuiteCSV(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	rows := [][]string{{"lock", "scenario", "planted", "verdict", "expected", "observed", "why", "seconds", "run"}}
	for _, c := range suite.Cells {
		rows = append(rows, []string{c.Lock, c.Scenario, strconv.FormatBool(c.Planted), string(c.Verdict), c.Expected, c.Observed, c.Why,
			junitTime(c.Duration), c.Run})
	}
	return writeCSV(w, rows)
}

// SuiteMeasures returns the counts of a suite.
func SuiteMeasures(suite results.Suite) []Measure {
	suite = Clean(suite)
	n := map[checker.Result]int{}
	for _, c := range suite.Cells {
		n[c.Verdict]++
	}
	out := []Measure{}
	for _, v := range []checker.Result{checker.Fail, checker.Inconclusive} {
		out = append(out, Measure{Of: "suite on " + suite.Server, Name: "cells " + string(v), Value: float64(n[v])})
	}
	missed := suite.Sensitivity.Missed
	return append(out, Measure{Of: out[0].Of, Name: "planted bugs missed", Value: float64(len(slices.Compact(missed)))})
}

// writeCSV writes rows of cells. A cell that a spreadsheet would run as a formula begins with an
// apostrophe, which it shows as text.
func writeCSV(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i, cell := range row {
			if _, err := strconv.ParseFloat(cell, 64); err != nil && strings.IndexAny(cell, "=+-@") == 0 {
				row[i] = "'" + cell
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
