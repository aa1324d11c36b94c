package page

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/verdicts"
)

// runView is what the template of a run shows: its files, and what is made of them.
type runView struct {
	data
	Run              results.Run
	Result           results.Result // the zero value if it was not judged
	Verdict          checker.Result
	Sentence         string            // what was tried, and what happened
	Worst            verdicts.Property // of which it tells
	Inherent, Then   string            // see report.Inherent
	Notes            []string
	Broken           []*checker.Violation // the first of each property; the one that heads the page has its story and picture
	Key              string               // of the picture, as are the next two
	LanesAbout, Left string
	Absent           string // the properties that do not apply, and why
	Untraced         bool   // some violations have no cause, as they were too many
	Outcomes         []string
	Latency          report.Table
	Spectra          []chart
	Faulty           bool       // there were faults, so that spectra are of two kinds
	Wait             [][]string // where the time of waits went: name, share, sum, and the width of a bar
	PerHold          string
	Commands         [][]string // name, count, per hold, and on servers p50 and p99
	Again, Scenario  string
	Files            []string
}

// Run writes the page of a run from its directory. files is the path from the page to the
// directory: "." for a page in it, "" for no links to files.
func Run(w io.Writer, d *results.Dir, files string) error {
	run, result, err := d.Load()
	if err != nil {
		return err
	}
	g, err := scan(d, result)
	if err != nil {
		return err
	}
	run = report.Clean(run)
	v := &runView{Run: run, Verdict: checker.Inconclusive, Again: results.CommandLine(run.Argv),
		Sentence: "This run was not judged" + strings.TrimSuffix(": "+run.Failure, ": ") + "."}
	if result != nil {
		v.judged(report.Clean(*result), g)
	}
	if g.cut {
		v.Notes = append(v.Notes, "The end of the history is missing; the page shows the rest.")
	}
	v.picture(g)
	v.charts(g)
	v.commands(g)
	v.data, v.Spectra = report.Clean(v.data), report.Clean(v.Spectra)
	if text, err := foreign.Read(d.File(results.ScenarioFile), foreign.MaxDocument); err == nil {
		v.Scenario = strings.Join(report.Lines(string(text)), "\n")
	}
	if files != "" {
		// files that cannot be listed are not linked
		_ = fs.WalkDir(os.DirFS(d.Path()), ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && name != results.ReportFile && len(v.Files) < 500 {
				v.Files = append(v.Files, path.Join(filepath.ToSlash(files), name))
			}
			return nil
		})
	}
	title := strings.TrimSpace(report.Headline(v.Verdict)+" "+v.Inherent) + ": " + run.Lock + " × " + run.Scenario + report.OtherWorkload(run.Workload)
	all := v.data
	all.Charts = slices.Concat(v.Charts, v.Spectra)
	return write(w, title, "run", v, all)
}

func (v *runView) judged(r results.Result, g *digest) {
	v.Result, v.Verdict, v.Notes, v.Again, v.Broken = r, r.Verdict, r.Notes, r.Rerun, report.Firsts(&r)
	v.Inherent, v.Then = report.Inherent(r)
	v.Worst = results.NewCell(r, verdicts.Safe()).Worst().Property
	var injected []string // the faults that took effect
	for _, w := range g.faults {
		if w.Confirmed {
			injected = append(injected, report.Clean(w.Fault))
		}
	}
	v.Sentence = report.RunSentence(r, v.Run.Schedules, injected)
	var absent []string
	for _, p := range r.Properties {
		v.Untraced = v.Untraced || report.Untraced(p) > 0
		if p.Verdict == checker.NotApplicable {
			absent = append(absent, strings.TrimSuffix(fmt.Sprintf("%s (%s)", p.Name, p.Note), " ()"))
		}
	}
	v.Absent = strings.Join(absent, "; ")
	for _, o := range []history.Outcome{history.OK, history.Busy, history.NotHeld, history.LostHold, history.Rejected, history.Fail, history.Unknown, history.None} {
		word := cmp.Or(o.String(), "done")
		for _, by := range r.Operations {
			if by[word] > 0 && !slices.Contains(v.Outcomes, word) {
				v.Outcomes = append(v.Outcomes, word)
			}
		}
	}
	v.Latency = report.LatencyTable(r)
	if v.Latency.Heads[0] = "from the call"; r.Load.Open {
		v.Latency.Heads[0], v.Latency.Heads[len(v.Latency.Heads)-1] = "from the planned start", "p99 from the call"
	}
	if w := r.Wait; w != nil && w.Total() > 0 && r.NoLatency == "" {
		add := func(name string, ns int64) {
			share := float64(ns) / float64(w.Total())
			v.Wait = append(v.Wait, []string{name, report.Percent(share), report.Span(ns), fmt.Sprint(int(share*120 + .5))})
		}
		add("behind a holder", w.BehindHolder)
		add("round trips to the server", w.RoundTrips)
		add("asleep between tries, or a missed wake-up", w.RetrySleep)
		add("late starts: the machine or busy clients, not the lock", w.GeneratorLag)
	}
}

// outcomeAbout explains an outcome in a sentence; "" for one that explains itself.
func outcomeAbout(outcome string) string {
	return map[string]string{
		history.Busy.String():     "busy: another client held the lock.",
		history.NotHeld.String():  "not_held: the client held the lock no more, or never had.",
		history.LostHold.String(): "lost: the client had been told that its hold was lost.",
		history.Rejected.String(): "rejected: the store refused the write, because its fence was lower than an earlier one.",
		history.Fail.String():     "fail: it failed and certainly had no effect.",
		history.Unknown.String():  "unknown: no reply came. It may have taken effect, then or later, or never; the check allows for each.",
	}[outcome]
}

// maxRows is the most rows of a table.
const maxRows = 40

func (v *runView) commands(g *digest) {
	if g.requests == 0 || g.granted == 0 {
		return
	}
	per := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/float64(g.granted)) }
	if v.Run.Schedules > 1 {
		v.PerHold = "In the schedule that is kept: "
	}
	v.PerHold += fmt.Sprintf("%s requests of the lock for %s: %s per hold, including those while waiting.", report.Count(g.requests), report.Plural(g.granted, "hold"), per(g.requests))
	all := slices.SortedFunc(maps.Values(g.byCommand), func(a, b *commandCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	for _, c := range all[:min(len(all), maxRows)] {
		row := []string{report.Short(report.Clean(c.name), 60), report.Count(c.count), per(c.count)}
		if v.Result.NoLatency == "" {
			for _, name := range []string{"p50", "p99"} {
				cell := report.TooFew
				if v, enough := percentile(c.trips, name); enough {
					cell = report.Span(v)
				}
				row = append(row, cell)
			}
		}
		v.Commands = append(v.Commands, row)
	}
}

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
				c.Bands = append(c.Bands, item{w.Start, min(w.Last(), g.last), w.Label()})
			}
		}
		for i, s := range c.Series {
			c.Series[i].Dot = len(s.Points) <= 40
		}
		for _, first := range v.Broken {
			c.Marks = append(c.Marks, item{first.At, string(first.Property)})
		}
	}
	v.Faulty = len(g.faults) > 0
	var spectra data
	for _, op := range []string{latency.Acquire, latency.HandOver, latency.Release, latency.Extend} {
		spectra.chart(v.spectrum(op, g))
	}
	v.Spectra = spectra.Charts
}

// spectrum returns the chart of an operation's percentiles, outside and inside the fault windows.
func (v *runView) spectrum(op string, g *digest) chart {
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
	return c
}
