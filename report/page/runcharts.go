package page

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results/latency"
)

// picture draws the lanes around the violations.
func (v *runView) picture(g *digest) {
	holds, err := checker.Holds(g.header, g.drawn, g.faults)
	if err != nil {
		v.Notes = append(v.Notes, report.Clean("The picture has no holds: "+err.Error()))
	}
	if v.Lanes = newLanes(g, holds, v.Broken); v.Lanes == nil {
		return
	}
	v.Key, v.Left = report.Clean(g.window.key), strings.Join(v.Lanes.left, ", ")
	switch {
	case len(v.Lanes.Marks) > 0:
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

// charts adds the lines over time, with the fault windows and first violations, and the spectra.
func (v *runView) charts(g *digest) {
	if g.total == 0 || v.Result.NoLatency != "" {
		return
	}
	t := g.time
	v.chart(chart{ID: "acquire", Title: "Wait for the lock over time", About: "From the call to the grant: p50, p99 and the longest, where there are enough samples.",
		X: "linear", Y: "log", XFormat: "time", YFormat: "span", Gap: 3 * float64(t.width),
		Series: []series{t.line("p50", classes[0], quantile("p50")), t.line("p99", classes[1], quantile("p99")), t.line("longest", classes[2], longest)}})
	rates := []series{t.line("granted", classes[0], t.rate(func(b *bucket) int64 { return b.granted }))}
	add := func(name string, of func(*bucket) int64) {
		line := t.line(name, classes[len(rates)%len(classes)], t.rate(of))
		if slices.ContainsFunc(line.Points, func(p []float64) bool { return p[1] > 0 }) {
			rates = append(rates, line)
		}
	}
	add("refused", func(b *bucket) int64 { return b.refused })
	add("failed", func(b *bucket) int64 { return b.failed })
	add("unknown", func(b *bucket) int64 { return b.unknown })
	v.chart(chart{ID: "throughput", Title: "Throughput over time, per second", About: "Grants, refusals and errors per second.",
		X: "linear", Y: "linear", XFormat: "time", YFormat: "count", Series: rates})
	for i := range v.Charts {
		c := &v.Charts[i]
		c.XRange = &[2]float64{float64(t.low * t.width), float64((t.high + 1) * t.width)}
		for i, w := range g.faults {
			if w.Confirmed && i < 500 {
				c.Bands = append(c.Bands, band{w.Start, min(w.Last(), g.last), w.Label()})
			}
		}
		for i, s := range c.Series {
			c.Series[i].Dot = len(s.Points) <= 40
		}
		for _, first := range v.Broken {
			c.Marks = append(c.Marks, mark{first.At, string(first.Property)})
		}
	}
	v.Faulty = len(g.faults) > 0
	for _, op := range []string{latency.Acquire, latency.HandOver, latency.Release, latency.Extend} {
		v.spectrum(op, g)
	}
}

// spectrum draws an operation's percentiles, outside and inside the fault windows.
func (v *runView) spectrum(op string, g *digest) {
	c := chart{ID: "spectrum-" + op, Title: op, About: "Latency by percentile.", X: "log", Y: "log", XFormat: "percentile", YFormat: "span"}
	outside := ""
	if v.Faulty {
		outside = ", outside faults"
	}
	add := func(tag, name, class string) {
		if h := g.spectra[tag]; h != nil {
			c.Series = append(c.Series, series{Name: name, Cls: class}.through(latency.Spectrum(h)))
		}
	}
	from := "from the call" // which is planned for then in a closed loop
	if v.Result.Load.Open {
		from = "from the planned start"
	}
	add(op, from+outside, classes[0])
	add(op+".inside", "inside faults", classes[1])
	if v.Result.Load.Open {
		add(op+".service", "from the call"+outside, classes[3]+" dots")
	}
	c.Series = slices.DeleteFunc(c.Series, func(s series) bool { return len(s.Points) == 0 })
	if len(c.Series) > 0 {
		v.Spectra = append(v.Spectra, c)
	}
}
