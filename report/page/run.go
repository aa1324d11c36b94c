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
	"github.com/lockbench/lockbench/internal/infile"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

type runView struct {
	Run                   results.Run
	Product               string // the servers' make and version; "" if not known
	Verdict               checker.Result
	Sections              [][2]string
	Other                 string // workload than the scenario's, to follow its name
	Sentence              string // what was tried, and what happened
	Damage                string
	Inherent, Then        string // see report.Inherent
	Notes                 []string
	First                 *checker.Violation   // with its story and drawing
	Others                []*checker.Violation // the first of each other property
	Drawn, Marked         bool
	Key, LanesAbout, Left string
	Properties            []checker.Property
	Absent                string // the properties that do not apply, and why
	Open                  bool   // the load was an open loop
	Gates                 []results.GateResult
	Outcomes              []string
	Operations            checker.Operations
	Unknown               bool
	NoLatency, Load       string
	Latency               [][]string // operation, place, count, percentiles
	Charts, Spectra       []figure
	Faulty                bool // there were faults, so that spectra are of two kinds
	Wait                  []waitRow
	PerHold               string
	Commands              []commandRow
	Again, Scenario       string
	Facts                 [][2]string
	Files                 []string
	data                  data
}

type (
	waitRow struct {
		Name, Share, Sum string
		Width            int
	}
	commandRow struct{ Name, Count, Per, P50, P99 string }
	// figure is a chart's place in the page.
	figure struct {
		ID, Title, About string
		Legend           []series
		Faults, Marked   bool
	}
)

// Run writes the page of a run from its directory. files is the path from the page to the
// directory: "." for a page in it, "" for no links to files.
func Run(w io.Writer, d *results.Dir, files string) error {
	run, err := d.LoadRun()
	if err != nil {
		return err
	}
	result, err := d.LoadResult()
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	g, err := scan(d, result)
	if err != nil {
		return err
	}
	v := newRunView(run, result, g)
	if text, err := infile.Read(d.File(results.ScenarioFile), infile.MaxDocument); err == nil {
		v.Scenario = strings.Join(report.Lines(string(text)), "\n")
	}
	if files != "" {
		v.Files = linked(d.Path(), files)
	}
	return write(w, fmt.Sprintf("%s: %s × %s%s", strings.TrimSpace(report.Headline(v.Verdict)+" "+v.Inherent), v.Run.Lock, v.Run.Scenario, v.Other), "run", v, v.data)
}

// linked lists the files of a directory under a prefix.
func linked(dir, prefix string) (out []string) {
	// files that cannot be listed are not linked
	_ = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil && rel != results.ReportFile && len(out) < 500 {
			out = append(out, path.Join(filepath.ToSlash(prefix), filepath.ToSlash(rel)))
		}
		return nil
	})
	return out
}

func newRunView(run results.Run, result *results.Result, g *digest) *runView {
	v := &runView{Run: report.Clean(run), Other: report.OtherWorkload(run.Workload), Verdict: checker.Inconclusive, Again: results.CommandLine(run.Argv), data: data{Charts: map[string]chart{}}}
	if result != nil {
		clean := report.Clean(*result)
		v.judged(clean)
		v.Product = clean.Product
		v.Sentence = report.RunSentence(clean, run.Schedules, injected(g))
	} else {
		v.Sentence = "This run was not judged" + strings.TrimSuffix(": "+v.Run.Failure, ": ") + "."
	}
	if g.cut {
		v.Notes = append(v.Notes, "The end of the history is missing; the page shows the rest.")
	}
	v.picture(result, g)
	v.charts(result, g)
	v.commands(g)
	v.environment()
	v.data = report.Clean(v.data)
	v.sections()
	v.Again = report.Clean(v.Again)
	return v
}

func (v *runView) judged(r results.Result) {
	v.Verdict, v.Notes, v.Again, v.NoLatency = r.Verdict, r.Notes, r.Rerun, r.NoLatency
	if all := firsts(&r); len(all) > 0 {
		v.First, v.Others = all[0], all[1:]
	}
	v.Damage = report.DamageText(r)
	v.Inherent, v.Then = report.Inherent(r)
	v.Properties, v.Gates, v.Operations, v.Open = r.Properties, r.Gates, r.Operations, r.Load.Open
	var absent []string
	for _, p := range r.Properties {
		if p.Verdict == checker.NotApplicable {
			absent = append(absent, strings.TrimSuffix(fmt.Sprintf("%s (%s)", p.Name, p.Note), " ()"))
		}
	}
	v.Absent = strings.Join(absent, "; ")
	v.outcomes()
	v.load(r)
	v.latencies(r)
	if r.Wait != nil && r.NoLatency == "" {
		v.waits(*r.Wait)
	}
}

// injected names the faults that took effect.
func injected(g *digest) (names []string) {
	for _, w := range g.faults {
		if w.Confirmed {
			names = append(names, report.Clean(w.Fault))
		}
	}
	return names
}

// outcomes lists the outcomes of all operations, for the columns of their table.
func (v *runView) outcomes() {
	seen := map[string]bool{}
	for _, by := range v.Operations {
		for outcome := range by {
			seen[outcome] = true
		}
	}
	v.Outcomes, v.Unknown = slices.Sorted(maps.Keys(seen)), seen[history.Unknown.String()]
}

func (v *runView) load(r results.Result) {
	l := r.Load
	if l.Duration == 0 || r.NoLatency == results.NoLatency {
		return
	}
	v.Load = fmt.Sprintf("%s, closed loop: %s holds, for %s", report.Plural(l.Clients, "client"), report.Rate(l.Achieved), report.Span(l.Duration))
	if l.Open {
		v.Load = fmt.Sprintf("%s, open loop: %s offered, %s achieved, for %s", report.Plural(l.Clients, "client"), report.Rate(l.Offered), report.Rate(l.Achieved), report.Span(l.Duration))
	}
	v.Load += report.WarmUpText(l) + "."
}

// shownOps are the operations whose latencies are shown, the most important first.
var shownOps = []string{latency.Acquire, latency.HandOver, latency.Release, latency.Extend}

func (v *runView) latencies(r results.Result) {
	for _, op := range shownOps {
		for _, p := range report.Places(r.Latency[op]) {
			cells := report.Percentiles(p.Split)
			if !v.Open { // every call is sent when it is due
				cells = cells[:len(cells)-1]
			}
			v.Latency = append(v.Latency, append([]string{op, p.Name, report.Count(p.Response.Count)}, cells...))
		}
	}
}

func (v *runView) waits(w latency.Wait) {
	total := w.Total()
	if total == 0 {
		return
	}
	for _, part := range []struct {
		name string
		ns   int64
	}{{"behind a holder", w.BehindHolder}, {"round trips to the server", w.RoundTrips}, {"asleep between tries, or a missed wake-up", w.RetrySleep},
		{"late starts: the machine or busy clients, not the lock", w.GeneratorLag}} {
		share := float64(part.ns) / float64(total)
		v.Wait = append(v.Wait, waitRow{part.name, report.Percent(share), report.Span(part.ns), int(share*120 + .5)})
	}
}

// maxRows is the most rows of a table.
const maxRows = 40

func (v *runView) commands(g *digest) {
	granted := g.granted
	if g.requests == 0 || granted == 0 {
		return
	}
	per := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/float64(granted)) }
	if v.Run.Schedules > 1 {
		v.PerHold = "In the schedule that is kept: "
	}
	v.PerHold += fmt.Sprintf("%s commands for %s: %s per hold, including those while waiting.", report.Count(g.requests), report.Plural(granted, "hold"), per(g.requests))
	all := slices.SortedFunc(maps.Values(g.byCommand), func(a, b *commandCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	for _, c := range all[:min(len(all), maxRows)] {
		row := commandRow{Name: report.Short(c.name, 60), Count: report.Count(c.count), Per: per(c.count)}
		if c.trips.TotalCount() > 0 {
			row.P50, row.P99 = report.Span(c.trips.ValueAtPercentile(50)), report.Span(c.trips.ValueAtPercentile(99))
		}
		v.Commands = append(v.Commands, report.Clean(row))
	}
}

// sections lists the page's sections for its table of contents.
func (v *runView) sections() {
	add := func(there bool, id, title string) {
		if there {
			v.Sections = append(v.Sections, [2]string{id, title})
		}
	}
	add(len(v.Gates) > 0, "gates", "gates")
	add(v.First != nil, "story", "how it broke")
	add(v.Drawn, "holds", "who held the lock")
	add(len(v.Properties) > 0, "properties", "what was checked")
	add(len(v.Operations) > 0, "operations", "operations")
	add(true, "latency", "latency and throughput")
	add(len(v.Wait)+len(v.Commands) > 0, "cost", "time and requests")
	add(true, "environment", "environment")
}
