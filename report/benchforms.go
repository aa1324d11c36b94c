package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

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

// BenchJUnit writes a case for the safety of each lock in each setting, and one for each gate.
func BenchJUnit(w io.Writer, b results.Bench) error {
	b = Clean(b)
	s := newJUnitSuite("bench", b.Server, b.Duration, time.Time{})
	for _, c := range b.Cells {
		one := junitCase{Name: c.Lock + ", " + c.Setting.String()}
		switch c.Verdict {
		case checker.Fail:
			var broken []string
			for _, br := range c.Breaks {
				broken = append(broken, fmt.Sprintf("%s broken by %s", br.Property, Causes(br.Causes)))
			}
			one.Failure = &junitMessage{Message: strings.Join(broken, "; ")}
		case checker.Inconclusive, checker.NotApplicable:
			one.Skipped = &junitMessage{Message: string(c.Verdict) + ": " + c.Why}
		}
		s.add(one)
	}
	s.gates(b.Gates)
	return writeJUnit(w, s)
}

// BenchSummary writes a bench as Markdown, with the tables that the terminal shows.
func BenchSummary(w io.Writer, b results.Bench) error {
	b = Clean(b)
	lines := []string{fmt.Sprintf("## Bench on %s: %s", md(b.Server), Headline(b.Verdict)), "",
		fmt.Sprintf("%s of %s, interleaved; seed %d", Plural(b.Plan.Repetitions, "repetition"), Span(b.Plan.Measure), b.Seed)}
	lines = append(lines, gatesMarkdown(b.Gates)...)
	for _, t := range slices.Concat(benchTables(b)...) {
		lines = append(append(lines, ""), t.markdown()...)
	}
	for _, foot := range columnFeet(b) {
		lines = append(lines, "", md(foot))
	}
	if b.Baseline != nil {
		lines = append(lines, comparisonMarkdown(*b.Baseline)...)
	}
	lines = append(lines, notesMarkdown(b.Notes)...)
	return write(w, append(lines, "", "Run again: "+code(b.Rerun)))
}
