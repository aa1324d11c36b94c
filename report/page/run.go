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
	Faulty           bool // there were faults, so that spectra are of two kinds
	Wait             []waitRow
	PerHold          string
	Commands         [][]string // name, count, per hold, and on servers p50 and p99
	Again, Scenario  string
	Facts            [][2]string
	Files            []string
}

type waitRow struct {
	Name, Share, Sum string
	Width            int
}

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
	run = report.Clean(run)
	v := &runView{Run: run, Verdict: checker.Inconclusive, Again: results.CommandLine(run.Argv), Facts: environmentFacts(run.Environment, run.Nodes),
		Sentence: "This run was not judged" + strings.TrimSuffix(": "+run.Failure, ": ") + "."}
	if run.Chosen != "" {
		v.Facts = append(v.Facts, [2]string{"server", run.Server + ": " + run.Chosen})
	}
	if run.PlanHash != "" {
		v.Facts = append(v.Facts, [2]string{"plan", run.PlanHash})
	}
	v.Facts = append(v.Facts, [2]string{"run", run.ID + ", phase " + string(run.Phase)})
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
		v.Files = linked(d.Path(), files)
	}
	title := strings.TrimSpace(report.Headline(v.Verdict)+" "+v.Inherent) + ": " + run.Lock + " × " + run.Scenario + report.OtherWorkload(run.Workload)
	all := v.data
	all.Charts = slices.Concat(v.Charts, v.Spectra)
	return write(w, title, "run", v, all)
}

// linked lists the files of a directory under a prefix.
func linked(dir, prefix string) (out []string) {
	// files that cannot be listed are not linked
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && name != results.ReportFile && len(out) < 500 {
			out = append(out, path.Join(filepath.ToSlash(prefix), name))
		}
		return nil
	})
	return out
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
			v.Wait = append(v.Wait, waitRow{name, report.Percent(share), report.Span(ns), int(share*120 + .5)})
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
