package page

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// benchView is what the template of a bench shows.
type benchView struct {
	data
	Bench    results.Bench
	Servers  string // by make and version
	Suite    *matrixView
	Baseline *comparisonView
	Legend   []results.Ending
	Unsafe   []results.BenchCell // in which properties were violated
}

// Bench writes the page of a bench.
func Bench(w io.Writer, b results.Bench) error {
	b = report.Clean(b)
	v := &benchView{Bench: b}
	if len(b.Nodes) > 0 {
		v.Servers = b.Nodes[0].Product()
	}
	v.Unsafe = slices.DeleteFunc(slices.Clone(b.Cells), func(c results.BenchCell) bool { return len(c.Breaks) == 0 })
	if b.Baseline != nil {
		v.Baseline = newComparison(*b.Baseline)
	}
	var cells []matrixCell // what the suite that is kept found, in the scenarios that people ask about
	for _, lock := range b.Plan.Locks {
		for _, q := range report.Questions() {
			if e, ok := b.Suite[lock][q.Scenario]; ok {
				tell := fmt.Sprintf("%s, %s: %s: %s. Command: lockbench run --lock %s --scenario %s --server sim", lock, q.Asks, e, e.About(), lock, q.Scenario)
				cells = append(cells, matrixCell{Cell: results.Cell{Lock: lock, Scenario: q.Scenario}, Word: e, Tell: tell})
			}
		}
	}
	if len(cells) > 0 {
		v.Suite, v.Legend = newMatrixView("asked", report.Questions(), cells), legendOf(cells)
	}
	settings := report.BySetting(b.Cells)
	v.byClients(settings, "throughput", "Holds per second", "count")
	v.byClients(settings, "hand-over.trips.p50", "From a release to the next grant, in round trips", "number")
	for i, cells := range settings {
		if !cells[0].Setting.Crash {
			v.waits(i, cells)
		}
	}
	return write(w, "Bench on "+b.Server, "bench", v, v.data)
}

// shownMetrics returns the metrics of a setting that a page shows.
func shownMetrics(cells []results.BenchCell) []results.Metric {
	return slices.DeleteFunc(results.Metrics(), func(m results.Metric) bool {
		return m.Words == "" || !slices.ContainsFunc(cells, func(c results.BenchCell) bool {
			_, measured := c.Figures[m.Name]
			return measured
		})
	})
}

// interval formats the interval of a figure; "" if it has none.
func interval(f results.Figure) string {
	if f.Low == nil || f.High == nil {
		return ""
	}
	return report.Quantity(f.Low, f.Unit) + " – " + report.Quantity(f.High, f.Unit)
}

func kneeText(k results.Knee) string {
	note := report.KneeNote(k)
	if k.Rate.Value == nil || *k.Rate.Value == 0 {
		return strings.TrimSuffix("none: "+note, ": ")
	}
	k.Rate.Unit = results.PerSecond
	text := report.Rate(*k.Rate.Value)
	if between := interval(k.Rate); between != "" {
		text += " (" + between + ")"
	}
	return strings.TrimSuffix(text+" "+note, " ")
}

// look is a lock's line, the same in every chart.
func (v *benchView) look(lock string) series {
	n := max(slices.Index(v.Bench.Plan.Locks, lock), 0)
	return series{Name: lock, Cls: classes[n%len(classes)]}
}

// byClients draws a metric by the number of clients; settings that differ otherwise have charts of
// their own.
func (v *benchView) byClients(settings [][]results.BenchCell, metric, title, format string) {
	var order []results.BenchSetting // without the number of clients
	lines, clients := map[results.BenchSetting][]series{}, map[results.BenchSetting][]int{}
	for _, cells := range settings {
		s := cells[0].Setting
		if s.Crash {
			continue
		}
		g := s
		g.Clients = 1
		if !slices.Contains(order, g) {
			order = append(order, g)
		}
		for _, c := range cells {
			f := c.Figures[metric]
			if f.Value == nil {
				continue
			}
			if !slices.Contains(clients[g], s.Clients) {
				clients[g] = append(clients[g], s.Clients)
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
		by := ", by clients"
		if len(clients[g]) == 1 {
			by = ", " + report.Plural(clients[g][0], "client")
		}
		where := strings.TrimPrefix(g.String(), "1 client")
		missing := slices.DeleteFunc(slices.Clone(v.Bench.Plan.Locks), func(lock string) bool {
			return slices.ContainsFunc(lines[g], func(l series) bool { return l.Name == lock })
		})
		if len(missing) > 0 {
			where += " (" + strings.Join(missing, ", ") + ": too few samples)"
		}
		v.chart(chart{ID: fmt.Sprintf("%s-%d", metric, i), Title: title + by + where, About: "For each lock a point for each number of clients, with its 95 % interval.",
			X: "log", Y: "linear", XFormat: "count", YFormat: format, Series: lines[g]})
	}
}

// waits draws the wait of all locks by percentile, and over the measured time, where each part has
// the samples that its percentile needs.
func (v *benchView) waits(setting int, cells []results.BenchCell) {
	c := chart{ID: fmt.Sprintf("spectrum-%d", setting), Title: "Wait for the lock by percentile, " + cells[0].Setting.String(),
		About: "A line for each lock, which ends where fewer than ten samples lie above.", X: "log", Y: "log", XFormat: "percentile", YFormat: "span"}
	for _, cell := range cells {
		c.Series = append(c.Series, v.look(cell.Lock).through(cell.Spectrum))
	}
	v.chart(c)
	which, of := "p50", func(m results.BenchMoment) int64 { return m.P50 }
	if slices.ContainsFunc(cells, func(c results.BenchCell) bool {
		return len(c.Over) > 0 && !slices.ContainsFunc(c.Over, func(m results.BenchMoment) bool { return m.P99 == 0 })
	}) {
		which, of = "p99", func(m results.BenchMoment) int64 { return m.P99 }
	}
	c = chart{ID: fmt.Sprintf("over-%d", setting), Title: "Wait for the lock over time (" + which + "), " + cells[0].Setting.String(),
		About: "All repetitions together; a part of the time without enough samples is left out.",
		X:     "linear", Y: "log", XFormat: "time", YFormat: "span", Gap: 2.5 * float64(v.Bench.Plan.Measure) / 30}
	for _, cell := range cells {
		line := v.look(cell.Lock)
		for _, m := range cell.Over {
			if y := of(m); y > 0 {
				line.Points = append(line.Points, []float64{float64(m.At), float64(y)})
			}
		}
		c.Series = append(c.Series, line)
		for _, f := range cell.Faults {
			c.Bands = append(c.Bands, item{f.From, f.To, cell.Lock + ": " + f.Fault})
		}
	}
	v.chart(c)
}
