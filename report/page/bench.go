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
	Verdict  checker.Result      // of safety and of the gates
	Unsafe   []results.BenchCell // in which properties were violated
	Settings []settingView
	Curves   []figure
	Facts    [][2]string
}

// settingView is one table: locks side by side in one setting.
type settingView struct {
	ID, Name string
	Metrics  []results.Metric
	Rows     []benchRow
}

// benchRow is a cell with its figures in the order of the metrics.
type benchRow struct {
	results.BenchCell
	Shown []figureView
}

// figureView is one figure as text, and its position in its column's range, in percent.
type figureView struct {
	Text, CI, Ratio string
	Dot, Low, Width float64
	Drawn, Interval bool
}

// columns are the metrics of the table, the most important first. The table omits a metric that no lock has.
var columns = []string{"throughput", "acquire.p50", "acquire.p99", "acquire.p99.9", "hand-over.p50", "hand-over.trips.p50", "release.p50", "requests", "bytes", "client-cpu",
	"server-cpu", "jain", "longest-wait", "bypasses", "achieved", "errors", "recovery", "fault.throughput", "fault.recovery"}

// Bench writes the page of a bench.
func Bench(w io.Writer, b results.Bench) error {
	b = report.Clean(b)
	v := &benchView{Bench: b, Verdict: b.Verdict, Facts: environmentFacts(b.Environment)}
	for _, n := range b.Nodes {
		v.Facts = append(v.Facts, nodeFact(n.Name, n.Version, n.Image, n.Config))
	}
	v.Unsafe = slices.DeleteFunc(slices.Clone(b.Cells), func(c results.BenchCell) bool { return len(c.Breaks) == 0 })
	var settings []results.BenchSetting
	for _, c := range b.Cells {
		if !slices.Contains(settings, c.Setting) {
			settings = append(settings, c.Setting)
			v.Settings = append(v.Settings, newSetting(fmt.Sprintf("setting-%d", len(settings)), c.Setting, b))
		}
	}
	d := data{Charts: map[string]chart{}}
	v.curves(d)
	return write(w, "Bench on "+b.Server, "bench", v, d)
}

// breaksText lists the violated properties with counts and causes.
func breaksText(c results.BenchCell) string {
	texts := make([]string, len(c.Breaks))
	for i, br := range c.Breaks {
		texts[i] = fmt.Sprintf("%s, %s: %s", br.Property, report.Plural(br.Violations, "violation"), report.Causes(br.Causes))
	}
	return strings.Join(texts, "; ")
}

func newSetting(id string, s results.BenchSetting, b results.Bench) settingView {
	v := settingView{ID: id, Name: s.String()}
	cells := slices.DeleteFunc(slices.Clone(b.Cells), func(c results.BenchCell) bool { return c.Setting != s })
	v.Rows = make([]benchRow, len(cells))
	for i, c := range cells {
		v.Rows[i].BenchCell = c
	}
	for _, name := range columns {
		m, err := results.FindMetric(name)
		if err != nil || !slices.ContainsFunc(cells, func(c results.BenchCell) bool { _, ok := c.Figures[name]; return ok }) {
			continue
		}
		v.Metrics = append(v.Metrics, m)
		for i, f := range column(cells, name) {
			v.Rows[i].Shown = append(v.Rows[i].Shown, f)
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

// column places the figures of one metric on an axis from 0.
func column(cells []results.BenchCell, metric string) []figureView {
	most := 0.0
	for _, c := range cells {
		if f := c.Figures[metric]; f.Value != nil {
			most = max(most, *f.Value)
			if f.High != nil {
				most = max(most, *f.High)
			}
		}
	}
	out := make([]figureView, len(cells))
	for i, c := range cells {
		if f, ok := c.Figures[metric]; ok {
			out[i] = newFigure(f, most)
		}
	}
	return out
}

func newFigure(f results.Figure, most float64) figureView {
	if f.Value == nil {
		v := figureView{Text: "–"}
		if f.Need > 0 {
			v.CI = fmt.Sprintf("%s of %s samples", report.Count(f.Samples), report.Count(f.Need))
		}
		return v
	}
	v := figureView{Text: valueText(f.Value, f.Unit), Drawn: most > 0}
	at := func(x float64) float64 {
		if most <= 0 {
			return 0
		}
		return 2 + 96*x/most
	}
	v.Dot = at(*f.Value)
	if f.Low != nil && f.High != nil {
		v.CI = valueText(f.Low, f.Unit) + " – " + valueText(f.High, f.Unit)
		v.Interval, v.Low, v.Width = true, at(*f.Low), at(*f.High)-at(*f.Low)
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

// curves draws latency against throughput: a line for each lock, a point for each setting; the settings of a curve differ only in clients or rate.
func (v *benchView) curves(d data) {
	type group struct {
		keys int
		hold time.Duration
	}
	var order []group
	points := map[group]map[string][][]float64{}
	var locks []string
	for _, c := range v.Bench.Cells {
		x, y := c.Figures["throughput"], c.Figures["acquire.p99"]
		if y.Value == nil {
			y = c.Figures["acquire.p50"]
		}
		if x.Value == nil || y.Value == nil || c.Setting.Crash {
			continue
		}
		g := group{c.Setting.Keys, c.Setting.Hold}
		if points[g] == nil {
			points[g] = map[string][][]float64{}
			order = append(order, g)
		}
		if !slices.Contains(locks, c.Lock) {
			locks = append(locks, c.Lock)
		}
		p := []float64{*x.Value, *y.Value}
		if y.Low != nil && y.High != nil {
			p = append(p, *y.Low, *y.High)
		}
		points[g][c.Lock] = append(points[g][c.Lock], p)
	}
	for i, g := range order {
		c := chart{X: "linear", Y: "log", XFormat: "count", YFormat: "span"}
		longest := 0
		for n, lock := range locks {
			if p := points[g][lock]; len(p) > 0 {
				c.Series = append(c.Series, series{Name: lock, Cls: classes[n%len(classes)], Dot: true, Points: p})
				longest = max(longest, len(p))
			}
		}
		if longest < 2 { // a single point is not a curve
			continue
		}
		id := fmt.Sprintf("curve-%d", i)
		d.Charts[id] = c
		title := "Wait for the lock (p99) against holds per second"
		title += strings.TrimPrefix(results.BenchSetting{Clients: 1, Keys: g.keys, Hold: g.hold}.String(), "1 client")
		v.Curves = append(v.Curves, figure{ID: id, Title: title, About: "One line per lock, one point per number of clients or rate.", Legend: c.Series})
	}
}
