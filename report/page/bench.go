package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

type benchView struct {
	Bench    results.Bench
	Answer   string // the first sentence
	Servers  string // by make and version
	Suite    *matrixView
	Legend   []legendRow
	Charts   []figure
	Verdict  checker.Result      // of safety and of the gates
	Unsafe   []results.BenchCell // in which properties were violated
	Settings []settingView
	Facts    [][2]string
}

// settingView is one setting: locks side by side, in as many tables as a narrow window needs.
type settingView struct {
	ID, Name string
	Locks    []lockView
	Rows     []metricRow
}

// lockView heads the column of a lock.
type lockView struct {
	results.BenchCell
	Safety string
}

// metricRow is a metric with the figures of the locks.
type metricRow struct {
	results.Metric
	Shown []figureView
}

// figureView is one figure as text.
type figureView struct{ Text, CI, Ratio string }

// Bench writes the page of a bench.
func Bench(w io.Writer, b results.Bench) error {
	b = report.Clean(b)
	v := &benchView{Bench: b, Verdict: b.Verdict, Facts: environmentFacts(b.Environment)}
	for _, n := range b.Nodes {
		v.Facts = append(v.Facts, nodeFact(n))
	}
	if len(b.Nodes) > 0 {
		v.Servers = b.Nodes[0].Product()
	}
	v.Answer = report.BenchAnswer(b)
	v.Unsafe = slices.DeleteFunc(slices.Clone(b.Cells), func(c results.BenchCell) bool { return len(c.Breaks) == 0 })
	v.suite()
	d := data{Charts: map[string]chart{}}
	v.charts(d)
	for i, cells := range report.BySetting(b.Cells) {
		v.Settings = append(v.Settings, newSetting(fmt.Sprintf("setting-%d", i+1), cells, b))
	}
	return write(w, "Bench on "+b.Server, "bench", v, d)
}

// suite arranges what the suite that is kept found of the locks, for the scenarios that people ask
// about.
func (v *benchView) suite() {
	m := &matrixView{Class: "asked", Heads: report.Questions()}
	for _, lock := range v.Bench.Plan.Locks {
		found := v.Bench.Suite[lock]
		if found == nil {
			continue
		}
		row := matrixRow{Lock: lock, Cells: make([]matrixCell, len(m.Heads))}
		for i, q := range m.Heads {
			e, ok := found[q.Scenario]
			if !ok {
				continue
			}
			c := matrixCell{Word: string(e), Class: endingClass(e), Tell: fmt.Sprintf("%s, %s: %s: %s. Command: lockbench run --lock %s --scenario %s --server sim", lock, q.Asks, e, e.About(), lock, q.Scenario)}
			row.Cells[i] = c
			if !slices.ContainsFunc(v.Legend, func(l legendRow) bool { return l.Word == c.Word }) {
				v.Legend = append(v.Legend, legendRow{c.Word, c.Class, e.About()})
			}
		}
		m.Rows = append(m.Rows, row)
	}
	if len(m.Rows) > 0 {
		v.Suite = m
	}
}

// breaksText lists the violated properties with counts and causes.
func breaksText(c results.BenchCell) string {
	texts := make([]string, len(c.Breaks))
	for i, br := range c.Breaks {
		texts[i] = fmt.Sprintf("%s, %s: %s", br.Property, report.Plural(br.Violations, "violation"), report.Causes(br.Causes))
	}
	return strings.Join(texts, "; ")
}

func newSetting(id string, cells []results.BenchCell, b results.Bench) settingView {
	v := settingView{ID: id, Name: cells[0].Setting.String()}
	for _, c := range cells {
		v.Locks = append(v.Locks, lockView{c, report.SafetyText(c, b)})
	}
	for _, m := range results.Metrics() {
		measured := func(c results.BenchCell) bool { _, ok := c.Figures[m.Name]; return ok }
		if m.Words != "" && slices.ContainsFunc(cells, measured) {
			v.Rows = append(v.Rows, metricRow{m, column(cells, m.Name)})
		}
	}
	return v
}

func unitName(u results.Unit) string {
	if u == results.Nanoseconds || u == results.Share || u == results.Number {
		return ""
	}
	return string(u)
}

// column returns the figures of one metric.
func column(cells []results.BenchCell, metric string) []figureView {
	out := make([]figureView, len(cells))
	for i, c := range cells {
		if f, ok := c.Figures[metric]; ok {
			out[i] = newFigure(f)
		}
	}
	return out
}

func newFigure(f results.Figure) figureView {
	if f.Value == nil {
		v := figureView{Text: "–"}
		if f.Need > 0 {
			v.CI = fmt.Sprintf("%s of %s samples", report.Count(f.Samples), report.Count(f.Need))
		}
		return v
	}
	v := figureView{Text: valueText(f.Value, f.Unit)}
	if f.Low != nil && f.High != nil {
		v.CI = valueText(f.Low, f.Unit) + " – " + valueText(f.High, f.Unit)
	}
	if r := f.Ratio; r != nil {
		v.Ratio = "~"
		if r.Differs {
			v.Ratio = fmt.Sprintf("× %.2f", r.Value)
		}
	}
	return v
}

// valueText shows a figure in its unit; "–" for none.
func valueText(v *float64, u results.Unit) string {
	if v == nil {
		return "–"
	}
	switch u {
	case results.Nanoseconds:
		return report.Span(int64(*v))
	case results.Share:
		return report.Percent(*v)
	case results.PerSecond:
		return report.Rate(*v)
	}
	if *v >= 1000 {
		return report.Count(int64(*v + .5))
	}
	return fmt.Sprintf("%.3g", *v)
}

func kneeText(k results.Knee) string {
	note := report.KneeNote(k)
	if k.Rate.Value == nil || *k.Rate.Value == 0 {
		return strings.TrimSuffix("none: "+note, ": ")
	}
	text := valueText(k.Rate.Value, results.PerSecond)
	if k.Rate.Low != nil && k.Rate.High != nil {
		text += " (" + valueText(k.Rate.Low, results.PerSecond) + " – " + valueText(k.Rate.High, results.PerSecond) + ")"
	}
	return strings.TrimSuffix(text+" "+note, " ")
}

// charts draws how the locks compare: throughput by clients, the wait by percentile and over time,
// the hand-over in round trips, and the wait against the throughput.
func (v *benchView) charts(d data) {
	settings := report.BySetting(v.Bench.Cells)
	v.byClients(d, settings, "throughput", "Holds per second, by clients", "count")
	v.byClients(d, settings, "hand-over.trips.p50", "From a release to the next grant, in round trips, by clients", "number")
	for i, cells := range settings {
		if cells[0].Setting.Crash {
			continue
		}
		v.spectrum(d, fmt.Sprintf("spectrum-%d", i), cells)
		v.over(d, fmt.Sprintf("over-%d", i), cells)
	}
}

// look is a lock's line, the same in every chart.
func (v *benchView) look(lock string) series {
	n := max(slices.Index(v.Bench.Plan.Locks, lock), 0)
	return series{Name: lock, Cls: classes[n%len(classes)]}
}

func (v *benchView) add(d data, f figure, c chart) {
	c.Series = slices.DeleteFunc(c.Series, func(s series) bool { return len(s.Points) == 0 })
	if len(c.Series) == 0 {
		return
	}
	f.Legend, f.Faults = c.Series, len(c.Bands) > 0
	d.Charts[f.ID] = c
	v.Charts = append(v.Charts, f)
}

// byClients draws a metric by the number of clients; settings that differ otherwise have charts of
// their own.
func (v *benchView) byClients(d data, settings [][]results.BenchCell, metric, title, format string) {
	type group struct {
		keys int
		hold time.Duration
		rate float64
	}
	var order []group
	lines := map[group][]series{}
	for _, cells := range settings {
		s := cells[0].Setting
		if s.Crash {
			continue
		}
		g := group{s.Keys, s.Hold, s.Rate}
		if _, known := lines[g]; !known {
			order, lines[g] = append(order, g), nil
		}
		for _, c := range cells {
			f := c.Figures[metric]
			if f.Value == nil {
				continue
			}
			at := slices.IndexFunc(lines[g], func(l series) bool { return l.Name == c.Lock })
			if at < 0 {
				at = len(lines[g])
				one := v.look(c.Lock)
				one.Dot = true
				lines[g] = append(lines[g], one)
			}
			p := []float64{float64(s.Clients), *f.Value}
			if f.Low != nil && f.High != nil {
				p = append(p, *f.Low, *f.High)
			}
			lines[g][at].Points = append(lines[g][at].Points, p)
		}
	}
	for i, g := range order {
		where := strings.TrimPrefix(results.BenchSetting{Clients: 1, Keys: g.keys, Hold: g.hold, Rate: g.rate}.String(), "1 client")
		v.add(d, figure{ID: fmt.Sprintf("%s-%d", metric, i), Title: title + where, About: "A line for each lock, a point for each number of clients, with its 95 % interval."},
			chart{X: "log", Y: "linear", XFormat: "count", YFormat: format, Series: lines[g]})
	}
}

// spectrum draws the wait of all locks by percentile.
func (v *benchView) spectrum(d data, id string, cells []results.BenchCell) {
	c := chart{X: "log", Y: "log", XFormat: "percentile", YFormat: "span"}
	for _, cell := range cells {
		line := v.look(cell.Lock)
		for _, p := range cell.Spectrum {
			line.Points = append(line.Points, p[:])
		}
		c.Series = append(c.Series, line)
	}
	v.add(d, figure{ID: id, Title: "Wait for the lock by percentile, " + cells[0].Setting.String(), About: "A line for each lock, as far as ten samples lie above."}, c)
}

// over draws the wait over the measured time, where each part has the samples that its percentile
// needs.
func (v *benchView) over(d data, id string, cells []results.BenchCell) {
	c := chart{X: "linear", Y: "log", XFormat: "time", YFormat: "span"}
	which := "p99"
	if !slices.ContainsFunc(cells, func(c results.BenchCell) bool {
		return len(c.Over) > 0 && !slices.ContainsFunc(c.Over, func(m results.BenchMoment) bool { return m.P99 == 0 })
	}) {
		which = "p50"
	}
	for _, cell := range cells {
		line := v.look(cell.Lock)
		for _, m := range cell.Over {
			if y := map[string]int64{"p50": m.P50, "p99": m.P99}[which]; y > 0 {
				line.Points = append(line.Points, []float64{float64(m.At), float64(y)})
			}
		}
		c.Series = append(c.Series, line)
		for _, f := range cell.Faults {
			c.Bands = append(c.Bands, band{f.From, f.To, cell.Lock + ": " + f.Fault})
		}
	}
	c.Gap = 2.5 * float64(v.Bench.Plan.Measure) / 30
	v.add(d, figure{ID: id, Title: "Wait for the lock over time (" + which + "), " + cells[0].Setting.String(), About: "All repetitions together; a part of the time without enough samples is left out."}, c)
}
