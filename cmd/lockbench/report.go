package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/internal/plain"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

type reportFlags struct {
	form choice
	file string // "": the place of the form, or stdout
}

func newReport(a *app) *cobra.Command {
	f := reportFlags{form: choice{value: "html", allowed: []string{"html", "md", "junit", "csv", "json", "text", "gha", "bmf"}}}
	c := &cobra.Command{
		Use:   "report RUN|BENCH|SUITE [flags]",
		Short: "Make a page, or another form, of a run, a bench or a suite",
		Long: "report reads a directory that run, bench or suite left, and nothing else, and writes it in another form:\n\n" +
			"  html   one page that loads nothing (report.html in the directory)\n" +
			"  md     a summary for a pull request\n" +
			"  junit  JUnit XML: a case for each property of each lock and scenario\n" +
			"  csv    a row for each figure or cell\n" +
			"  json   the record as it is\n" +
			"  text   what the terminal showed\n" +
			"  gha    for github-action-benchmark, smaller is better\n" +
			"  bmf    Bencher Metric Format\n\n" +
			"All but html go to stdout. -O FILE names a file, -O - is stdout. It exits 0 whatever the verdict was.",
		Example: "  lockbench report results/runs/latest\n  lockbench report results/runs/latest -f md\n  lockbench report results/runs/latest -f junit -O junit.xml",
		Args:    exactly("a directory"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.report(args[0], f) },
	}
	s := c.Flags()
	s.VarP(&f.form, "format", "f", "what to write")
	s.StringVarP(&f.file, "out-file", "O", "", "where to write it; - for stdout")
	complete(c, "format", words(f.form.allowed...))
	return c
}

// record is a stored run, bench or suite.
type record interface {
	dir() string
	// write writes the record in a form; base is the path from the output's place to the record's directory, "" for none.
	write(w io.Writer, form, base string, s report.Style) error
}

// report writes a record in another form.
func (a *app) report(path string, f reportFlags) error {
	form := f.form.value
	if a.json() {
		form = "json"
	}
	r, err := openRecord(path)
	if err != nil {
		return asInput(err)
	}
	file := f.file
	if file == "" && form == "html" {
		file = filepath.Join(r.dir(), results.ReportFile)
	}
	if file == "" || file == "-" {
		return inForm(r, a.out, form, "", a.style())
	}
	base, err := filepath.Rel(filepath.Dir(file), r.dir())
	if err != nil {
		base = ""
	}
	if err := results.SaveFile(file, func(w io.Writer) error { return inForm(r, w, form, base, report.Style{}) }); err != nil {
		return err
	}
	a.say("%s", file)
	return nil
}

// inForm writes a record in a form.
func inForm(r record, w io.Writer, form, base string, s report.Style) error {
	var b bytes.Buffer // whole or not at all
	if err := r.write(&b, form, base, s); err != nil {
		return asInput(err)
	}
	_, err := b.WriteTo(w)
	return err
}

// openRecord opens the suite, bench or run at a path.
func openRecord(path string) (record, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	for _, open := range []func(string) (record, error){openSuite, openBench} {
		if r, err := open(path); err == nil || !errors.Is(err, errAbsent) {
			return r, err
		}
	}
	d, err := results.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: neither a run, a bench nor a suite: no %s, %s or %s there", path, results.RunFile, results.BenchFile, results.SuiteFile)
	}
	run, err := d.LoadRun()
	if err != nil {
		return nil, err
	}
	return runRecord{d, run}, nil
}

// errAbsent means that a path has another kind of record.
var errAbsent = errors.New("not there")

type runRecord struct {
	d   *results.Dir
	run results.Run
}

func (r runRecord) dir() string { return r.d.Path() }

func (r runRecord) write(w io.Writer, form, base string, s report.Style) error {
	if form == "html" {
		return page.Run(w, r.d, base)
	}
	result, err := r.d.LoadResult()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if form == "junit" {
		return report.RunJUnit(w, r.run, result)
	}
	if result == nil {
		return fmt.Errorf("%s: the run was not judged: it has no %s; 'lockbench check %s' judges what was recorded", r.dir(), results.ResultFile, r.dir())
	}
	switch form {
	case "md":
		return report.RunMarkdown(w, *result)
	case "csv":
		return report.RunCSV(w, *result)
	case "json":
		return copyFile(w, r.d.File(results.ResultFile))
	case "gha":
		return report.GitHubBenchmark(w, report.RunMeasures(*result))
	case "bmf":
		return report.Bencher(w, report.RunMeasures(*result))
	}
	return report.Run(w, *result, r.dir(), s)
}

// copyFile writes a file of JSON.
func copyFile(w io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = w.Write(plain.JSON(data))
	return err
}

type suiteRecord struct {
	file  string
	suite results.Suite
}

func openSuite(path string) (record, error) {
	file, ok := results.Stored(path, results.SuiteFile)
	if !ok {
		if filepath.Ext(path) != ".json" {
			return nil, errAbsent
		}
	}
	s, err := results.LoadSuite(file)
	if err != nil {
		if !ok {
			return nil, errAbsent
		}
		return nil, err
	}
	return suiteRecord{file, s}, nil
}

func (r suiteRecord) dir() string { return filepath.Dir(r.file) }

func (r suiteRecord) write(w io.Writer, form, base string, s report.Style) error {
	switch form {
	case "html":
		return page.Suite(w, r.suite, r.dir(), base)
	case "junit":
		return report.SuiteJUnit(w, r.suite)
	case "md":
		return report.SuiteMarkdown(w, r.suite)
	case "csv":
		return report.SuiteCSV(w, r.suite)
	case "json":
		return copyFile(w, r.file)
	case "gha":
		return report.GitHubBenchmark(w, report.SuiteMeasures(r.suite))
	case "bmf":
		return report.Bencher(w, report.SuiteMeasures(r.suite))
	}
	return report.Suite(w, r.suite, "", s)
}

type benchRecord struct {
	file  string
	bench results.Bench
}

func openBench(path string) (record, error) {
	file, ok := results.Stored(path, results.BenchFile)
	if !ok && filepath.Ext(path) != ".json" {
		return nil, errAbsent
	}
	b, err := results.LoadBench(file)
	if err != nil {
		if !ok {
			return nil, errAbsent
		}
		return nil, err
	}
	return benchRecord{file, b}, nil
}

func (r benchRecord) dir() string { return filepath.Dir(r.file) }

func (r benchRecord) write(w io.Writer, form, base string, s report.Style) error {
	switch form {
	case "md":
		return report.BenchSummary(w, r.bench)
	case "html":
		return page.Bench(w, r.bench)
	case "junit":
		return report.BenchJUnit(w, r.bench)
	case "csv":
		return report.BenchCSV(w, r.bench)
	case "json":
		return copyFile(w, r.file)
	case "gha":
		return report.GitHubBenchmark(w, report.BenchMeasures(r.bench))
	case "bmf":
		return report.Bencher(w, report.BenchMeasures(r.bench))
	}
	return report.Bench(w, r.bench, r.dir(), false, s)
}

// saveRunViews writes the reports of a run into its directory.
func saveRunViews(d *results.Dir, result *results.Result) error {
	run, err := d.LoadRun()
	if err != nil {
		return err
	}
	return errors.Join(
		d.SaveFunc(results.JUnitFile, func(w io.Writer) error { return report.RunJUnit(w, run, result) }),
		d.SaveFunc(results.ReportFile, func(w io.Writer) error { return page.Run(w, d, ".") }))
}
