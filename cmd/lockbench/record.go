package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

// record is a run, bench or suite: where it is, and what writes its forms. All that shows, stores
// or serves one goes through it.
type record struct {
	dir   string
	entry page.Entry                                  // what a list says of it
	value any                                         // the result, for JSON
	file  string                                      // has it, as it was stored; "": nothing has
	html  func(w io.Writer, base string) error        // base is the path from the output's place to dir, "" for none
	text  func(w io.Writer, style report.Style) error //
	forms map[string]func(io.Writer) error            // the others, by the word of report -f
	// why it has no form but html and junit; nil for one that was judged
	unjudged error
}

// forms returns what writes the forms of one kind of record.
func forms[T any](v T, md, junit, csv func(io.Writer, T) error, measures func(T) []report.Measure) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"md":    func(w io.Writer) error { return md(w, v) },
		"junit": func(w io.Writer) error { return junit(w, v) },
		"csv":   func(w io.Writer) error { return csv(w, v) },
		"gha":   func(w io.Writer) error { return report.GitHubBenchmark(w, measures(v)) },
		"bmf":   func(w io.Writer) error { return report.Bencher(w, measures(v)) },
	}
}

func suiteRecord(s results.Suite, dir string) record {
	locks, scenarios := map[string]bool{}, map[string]bool{}
	for _, c := range s.Cells {
		locks[c.Lock], scenarios[c.Scenario] = true, true
	}
	what := report.Plural(len(locks), "lock") + " × " + report.Plural(len(scenarios), "scenario")
	return record{dir: dir, value: s, entry: page.Entry{Kind: "suite", When: s.Start, What: what, Server: s.Server, Verdict: s.Verdict},
		html:  func(w io.Writer, base string) error { return page.Suite(w, s, dir, base) },
		text:  func(w io.Writer, style report.Style) error { return report.Suite(w, s, keptIn(dir).Page, style) },
		forms: forms(s, report.SuiteMarkdown, report.SuiteJUnit, report.SuiteCSV, report.SuiteMeasures)}
}

func benchRecord(b results.Bench, dir string) record {
	return record{dir: dir, value: b, entry: page.Entry{Kind: "bench", When: b.Start, What: strings.Join(b.Plan.Locks, ", "), Server: b.Server, Verdict: b.Verdict},
		html:  func(w io.Writer, _ string) error { return page.Bench(w, b) },
		text:  func(w io.Writer, style report.Style) error { return report.Bench(w, b, keptIn(dir), style) },
		forms: forms(b, report.BenchSummary, report.BenchJUnit, report.BenchCSV, report.BenchMeasures)}
}

// keptIn says where the record in a directory is kept. It has no page if that could not be written.
func keptIn(dir string) report.Kept {
	page := filepath.Join(dir, results.ReportFile)
	if !exists(page) {
		page = ""
	}
	return report.Kept{Dir: dir, Page: page}
}

// runRecord is the record of a run; result is nil if it was not judged.
func runRecord(dir string, run results.Run, result *results.Result) record {
	r := record{dir: dir, file: filepath.Join(dir, results.ResultFile),
		entry: page.Entry{Kind: "run", When: run.Start, What: run.Lock + " × " + run.Scenario, Lock: run.Lock, Scenario: run.Scenario, Server: run.Server, Result: result},
		html: func(w io.Writer, base string) error {
			d, err := results.Open(dir)
			if err != nil {
				return err
			}
			return page.Run(w, d, base)
		},
		forms: map[string]func(io.Writer) error{}}
	if result == nil {
		r.unjudged = fmt.Errorf("%s: the run was not judged: it has no %s; 'lockbench check %s' judges what was recorded", dir, results.ResultFile, dir)
	} else {
		r.value, r.entry.Verdict = *result, result.Verdict
		r.text = func(w io.Writer, s report.Style) error { return report.Run(w, *result, keptIn(dir), s) }
		r.forms = forms(*result, report.RunMarkdown, nil, report.RunCSV, report.RunMeasures)
	}
	r.forms["junit"] = func(w io.Writer) error { return report.RunJUnit(w, run, result) }
	return r
}

// write writes the record in a form that report -f names.
func (r record) write(w io.Writer, form, base string, s report.Style) error {
	switch {
	case form == "html":
		return r.html(w, base)
	case r.unjudged != nil && form != "junit":
		return r.unjudged
	case form == "text":
		return r.text(w, s)
	case form == "json" && r.file == "":
		return writeJSON(w, r.value, " ")
	case form == "json":
		data, err := foreign.Read(r.file, foreign.MaxDocument)
		if err != nil {
			return err
		}
		_, err = w.Write(foreign.JSON(data))
		return err
	}
	return r.forms[form](w)
}

// save writes what people and programs read of the record into its directory.
func (r record) save() (err error) {
	for form, name := range map[string]string{"md": results.SummaryFile, "junit": results.JUnitFile, "html": results.ReportFile} {
		err = errors.Join(err, results.SaveFile(filepath.Join(r.dir, name), func(w io.Writer) error { return r.write(w, form, ".", report.Style{}) }))
	}
	return err
}

func (a *app) show(r record) error {
	if a.json() {
		return a.writeJSON(r.value)
	}
	return r.text(a.out, a.style())
}

// summarize appends a summary to the page of a GitHub job, if there is one.
func (a *app) summarize(summary func(io.Writer) error) error {
	path := a.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	return errors.Join(summary(f), f.Close())
}

// openRecord opens the suite, bench or run at a path.
func openRecord(path string) (r record, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	file, schema := path, ""
	for name, of := range map[string]string{results.SuiteFile: results.SuiteSchema, results.BenchFile: results.BenchSchema} {
		if found, ok := results.Stored(path, name); ok {
			file, schema = found, of
		}
	}
	if !info.IsDir() {
		if schema, err = schemaOf(path); err != nil && filepath.Ext(path) == ".json" {
			return r, err
		}
	}
	switch schema {
	case results.SuiteSchema:
		s, loadErr := results.LoadSuite(file)
		r, err = suiteRecord(s, filepath.Dir(file)), loadErr
	case results.BenchSchema:
		b, loadErr := results.LoadBench(file)
		r, err = benchRecord(b, filepath.Dir(file)), loadErr
	default:
		if r, err = openRun(path); err != nil && schema != "" && r.dir == "" && !errors.Is(err, errFinding) {
			err = fmt.Errorf("%s: its schema is %q, want %s, %s or %s", path, schema, results.BenchSchema, results.SuiteSchema, results.RunSchema)
		}
		return r, err
	}
	r.file = file
	return r, err
}

func openRun(path string) (record, error) {
	d, err := results.Open(path)
	if err != nil {
		return record{}, fmt.Errorf("%s: neither a run, a bench nor a suite: no %s, %s or %s there", path, results.RunFile, results.BenchFile, results.SuiteFile)
	}
	run, result, err := d.Load()
	if err != nil {
		return record{dir: d.Path()}, err
	}
	r := runRecord(d.Path(), run, result)
	if run.Scenario == "explore" && !exists(d.File(results.ScenarioFile)) { // the finding of a search, which has a tape
		r.entry.Kind, r.entry.What, r.entry.Scenario, r.entry.Verdict, r.entry.Story = "explore", run.Lock, "", checker.Fail, result == nil
		if result == nil {
			return record{entry: r.entry}, fmt.Errorf("%s: %w; '%s' runs it again", d.Path(), errFinding, replayOf(d.File(results.TapePath), run))
		}
	}
	return r, nil
}

// errFinding is the error for the directory of a search, which has nothing to be judged or shown as
// a run.
var errFinding = errors.New("a finding of explore without a record, which is a tape and a story")

func replayOf(tape string, run results.Run) string {
	again := []string{"lockbench", "replay", tape}
	if run.Server != results.Simulator { // a command, which is given again
		again = append(again, "--exec", "COMMAND")
	}
	return results.CommandLine(again)
}

// pictured is how many of a run's violations have a page of their own; every one is written as
// text.
const pictured = 5

// saveViews writes the reports and the violations into the run directory. A run that failed before
// it was judged has none.
func saveViews(out *harness.Outcome) error {
	if out.Dir == "" || out.Verdict == nil {
		return nil
	}
	d, err := results.Open(out.Dir)
	if err != nil {
		return err
	}
	for i := range out.Verdict.Violations {
		v, name := &out.Verdict.Violations[i], fmt.Sprintf("%s/%03d", results.ViolationsPath, i+1)
		err = errors.Join(err, d.SaveFunc(name+".txt", func(w io.Writer) error { return report.Violation(w, *v) }))
		if i < pictured {
			s := page.NewScene(v, out.Run.Lock, out.Run.Scenario, out.Record.Commands)
			err = errors.Join(err, d.SaveFunc(name+".html", func(w io.Writer) error { return page.Violation(w, s, out.Result.Rerun, "../"+results.ReportFile) }))
		}
	}
	return errors.Join(err, runRecord(out.Dir, out.Run, &out.Result).save())
}
