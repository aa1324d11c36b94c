package page

import (
	"slices"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// picture draws the lanes around the violations.
func (v *runView) picture(result *results.Result, g *digest) {
	violations := firsts(result)
	holds, err := checker.Holds(g.header, g.drawn, g.faults)
	if err != nil {
		v.Notes = append(v.Notes, report.Clean("The picture has no holds: "+err.Error()))
	}
	l := newLanes(g, holds, violations)
	if l == nil {
		return
	}
	v.Drawn, v.Marked, v.data.Lanes, v.Key = true, len(l.Marks) > 0, l, report.Clean(g.window.key)
	v.Left = strings.Join(l.left, ", ")
	switch {
	case v.Marked:
		v.LanesAbout = "The picture shows the time around this violation; the buttons go to the others."
	case len(g.window.at) > 0:
		v.LanesAbout = "The picture shows the time around the first fault."
	default:
		v.LanesAbout = "The picture shows the beginning of the run."
	}
	if g.header.Lease > 0 {
		v.LanesAbout += " The lease is " + report.Span(g.header.Lease) + "."
	}
}

// charts adds the lines over time and the spectra.
func (v *runView) charts(result *results.Result, g *digest) {
	if g.total == 0 || v.NoLatency != "" {
		return
	}
	t := g.time
	acquire := func(b *bucket) *hdr.Histogram { return b.acquire }
	v.chart(figure{ID: "acquire", Title: "Wait for the lock over time", About: "From the call to the grant: p50, p99 and the longest."}, g, result,
		chart{X: "linear", Y: "log", XFormat: "time", YFormat: "span", Gap: 3 * float64(t.width),
			Series: []series{t.line("p50", classes[0], quantile(acquire, 50)), t.line("p99", classes[1], quantile(acquire, 99)), t.line("max", classes[2], quantile(acquire, 100))}})
	rates := []series{t.line("granted", classes[0], t.rate(func(b *bucket) int64 { return b.granted }))}
	for _, other := range []struct {
		name string
		of   func(*bucket) int64
	}{{"refused", func(b *bucket) int64 { return b.refused }}, {"failed", func(b *bucket) int64 { return b.failed }}, {"unknown", func(b *bucket) int64 { return b.unknown }}} {
		if line := t.line(other.name, classes[len(rates)%len(classes)], t.rate(other.of)); slices.ContainsFunc(line.Points, func(p []float64) bool { return p[1] > 0 }) {
			rates = append(rates, line)
		}
	}
	v.chart(figure{ID: "throughput", Title: "Throughput over time, per second", About: "Grants, refusals and errors per second."}, g, result,
		chart{X: "linear", Y: "linear", XFormat: "time", YFormat: "count", Series: rates})
	for _, op := range shownOps {
		v.spectrum(op, g)
	}
}

// chart adds a figure to the page, with the fault windows and the first violations, unless it has
// no points.
func (v *runView) chart(f figure, g *digest, result *results.Result, c chart) {
	c.Series = slices.DeleteFunc(c.Series, func(s series) bool { return len(s.Points) == 0 })
	if len(c.Series) == 0 {
		return
	}
	c.XRange = &[2]float64{float64(g.time.low * g.time.width), float64((g.time.high + 1) * g.time.width)}
	for i, w := range g.faults {
		if w.Confirmed && i < 500 {
			c.Bands = append(c.Bands, band{w.Start, min(w.Last(), g.last), w.Label()})
		}
	}
	for i, s := range c.Series {
		c.Series[i].Dot = len(s.Points) <= 40
	}
	for _, first := range firsts(result) {
		c.Marks = append(c.Marks, mark{first.At, string(first.Property)})
	}
	v.data.Charts[f.ID] = c
	f.Legend, f.Faults, f.Marked = report.Clean(c.Series), len(c.Bands) > 0, len(c.Marks) > 0
	v.Charts = append(v.Charts, f)
}

// spectrum draws an operation's percentiles, outside and inside the fault windows.
func (v *runView) spectrum(op string, g *digest) {
	c, outside := chart{X: "log", Y: "log", XFormat: "percentile", YFormat: "span"}, ""
	if v.Faulty = len(g.faults) > 0; v.Faulty {
		outside = ", outside faults"
	}
	for _, one := range []struct{ tag, name, class string }{
		{op, "from the planned start" + outside, classes[0]}, {op + ".inside", "inside faults", classes[1]}, {op + ".service", "from the call" + outside, classes[3] + " dots"},
	} {
		if !v.Open && one.tag == op+".service" { // the same
			continue
		}
		if h := g.spectra[one.tag]; h != nil && h.TotalCount() > 0 {
			c.Series = append(c.Series, series{Name: one.name, Cls: one.class, Points: spectrumOf(h)})
		}
	}
	if len(c.Series) == 0 {
		return
	}
	id := "spectrum-" + op
	v.data.Charts[id] = c
	v.Spectra = append(v.Spectra, figure{ID: id, Title: op, About: "Latency by percentile.", Legend: c.Series})
}

// spectrumOf returns points of 1/(1-p) and the value at p, up to the percentile with one sample
// above it.
func spectrumOf(h *hdr.Histogram) [][]float64 {
	points, most := [][]float64{}, float64(h.TotalCount())
	for _, b := range h.CumulativeDistributionWithTicks(5) {
		x := most
		if b.Quantile < 100 {
			x = min(1/(1-b.Quantile/100), most)
		}
		if n := len(points); n > 0 && points[n-1][0] == x {
			points[n-1][1] = float64(b.ValueAt)
			continue
		}
		points = append(points, []float64{x, float64(b.ValueAt)})
	}
	return points
}
