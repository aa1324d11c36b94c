package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Measure is a figure of a run or a bench that has a value, for dashboards.
type Measure struct {
	Of   string // lock and setting
	Name string // of a metric, or violations
	results.Figure
	Higher bool // a higher value is better
}

// counted is a measure without a unit.
func counted(of, name string, n int) Measure {
	return Measure{Of: of, Name: name, Figure: results.Figure{Value: new(float64(n))}}
}

// RunMeasures returns the metrics of a run that have a value, and its violations.
func RunMeasures(r results.Result) (out []Measure) {
	r = Clean(r)
	of, values := r.Lock+" × "+scenarioOf(r), r.Values()
	for _, m := range results.Metrics() {
		if f := values[m.Name]; f.Value != nil {
			out = append(out, Measure{of, m.Name, f, m.Higher})
		}
	}
	violations := 0
	for _, p := range r.Properties {
		if p.Verdict == checker.Fail {
			violations += p.Violations
		}
	}
	return append(out, counted(of, "violations", violations))
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
		ranged, e := m.Low != nil && m.High != nil, entry{m.Of + ": " + m.Name, cmp.Or(string(m.Unit), "count"), *m.Value, ""}
		width := 0.0
		if ranged {
			width = *m.High - *m.Low
		}
		switch {
		case m.Higher && m.Unit != results.PerSecond:
			e.Name, e.Value = e.Name+", short of 1", 1-e.Value
		case m.Higher && e.Value <= 0:
			continue
		case m.Higher:
			e.Name, e.Unit, e.Value = m.Of+": time per "+m.Name, "ms", 1e3/e.Value
			if ranged {
				width = perOne(*m.Low) - perOne(*m.High)
			}
		}
		if ranged {
			e.Range = "± " + digits(width/2)
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
		one := metric{Value: *m.Value}
		if m.Low != nil && m.High != nil {
			one.Lower, one.Upper = m.Low, m.High
		}
		name := m.Name
		if m.Unit != "" {
			name += " (" + string(m.Unit) + ")"
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
		add("measure", m.Name, strconv.FormatFloat(*m.Value, 'g', -1, 64), string(m.Unit))
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
	of := "suite on " + suite.Server
	return []Measure{counted(of, "cells fail", n[checker.Fail]), counted(of, "cells inconclusive", n[checker.Inconclusive]),
		counted(of, "planted bugs missed", len(slices.Compact(suite.Sensitivity.Missed)))}
}

// BenchMeasures returns the figures of a bench that have a value.
func BenchMeasures(b results.Bench) []Measure {
	b = Clean(b)
	out := []Measure{}
	for _, c := range b.Cells {
		for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
			f := c.Figures[name]
			if f.Value != nil {
				m, _ := results.FindMetric(name)
				out = append(out, Measure{c.Lock + ", " + c.Setting.String(), name, f, m.Higher})
			}
		}
	}
	return out
}

// BenchCSV writes a row for each figure of a bench.
func BenchCSV(w io.Writer, b results.Bench) error {
	b = Clean(b)
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return exact(*v)
	}
	rows := [][]string{{"lock", "clients", "keys", "hold_ns", "rate", "crash", "verdict", "metric", "unit", "value", "low", "high", "samples", "ratio"}}
	for _, c := range b.Cells {
		s := c.Setting
		for _, name := range slices.Sorted(maps.Keys(c.Figures)) {
			f := c.Figures[name]
			ratio := ""
			if f.Ratio != nil {
				ratio = exact(f.Ratio.Value)
			}
			rows = append(rows, []string{c.Lock, fmt.Sprint(s.Clients), fmt.Sprint(s.Keys), fmt.Sprint(int64(s.Hold)), exact(s.Rate), fmt.Sprint(s.Crash),
				string(c.Verdict), name, string(f.Unit), number(f.Value), number(f.Low), number(f.High), fmt.Sprint(f.Samples), ratio})
		}
	}
	return writeCSV(w, rows)
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
