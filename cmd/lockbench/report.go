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
			"html goes to a file in the directory, the others to stdout; -O FILE names a file, -O - is stdout. The path of a written file is printed. It exits 0 whatever the verdict was.",
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

// record is a stored run, bench or suite: where it is, and what writes its forms.
type record struct {
	dir, file string                               // file has its result as JSON
	html      func(w io.Writer, base string) error // base is the path from the output's place to dir, "" for none
	junit     func(io.Writer) error
	unjudged  error // why it has no other form; nil for one that was judged
	md, csv   func(io.Writer) error
	text      func(io.Writer, report.Style) error
	measures  func() []report.Measure
}

func (r record) write(w io.Writer, form, base string, s report.Style) error {
	switch form {
	case "html":
		return r.html(w, base)
	case "junit":
		return r.junit(w)
	}
	if r.unjudged != nil {
		return r.unjudged
	}
	switch form {
	case "md":
		return r.md(w)
	case "csv":
		return r.csv(w)
	case "json":
		return copyFile(w, r.file)
	case "gha":
		return report.GitHubBenchmark(w, r.measures())
	case "bmf":
		return report.Bencher(w, r.measures())
	}
	return r.text(w, s)
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
		file = filepath.Join(r.dir, results.ReportFile)
	}
	var b bytes.Buffer // whole or not at all
	if file == "" || file == "-" {
		if err := r.write(&b, form, "", a.style()); err != nil {
			return asInput(err)
		}
		_, err := b.WriteTo(a.out)
		return err
	}
	base, err := filepath.Rel(filepath.Dir(file), r.dir)
	if err != nil {
		base = ""
	}
	if err := r.write(&b, form, base, report.Style{}); err != nil {
		return asInput(err)
	}
	if err := results.SaveFile(file, func(w io.Writer) error { _, err := b.WriteTo(w); return err }); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, file)
	return err
}

// openRecord opens the suite, bench or run at a path.
func openRecord(path string) (record, error) {
	if _, err := os.Stat(path); err != nil {
		return record{}, err
	}
	for _, open := range []func(string) (record, error){openSuite, openBench} {
		if r, err := open(path); err == nil || !errors.Is(err, errAbsent) {
			return r, err
		}
	}
	return openRun(path)
}

// errAbsent means that a path has another kind of record.
var errAbsent = errors.New("not there")

func openRun(path string) (record, error) {
	d, err := results.Open(path)
	if err != nil {
		return record{}, fmt.Errorf("%s: neither a run, a bench nor a suite: no %s, %s or %s there", path, results.RunFile, results.BenchFile, results.SuiteFile)
	}
	run, err := d.LoadRun()
	if err != nil {
		return record{}, err
	}
	result, err := d.LoadResult()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return record{}, err
	}
	r := record{dir: d.Path(), file: d.File(results.ResultFile),
		html:  func(w io.Writer, base string) error { return page.Run(w, d, base) },
		junit: func(w io.Writer) error { return report.RunJUnit(w, run, result) }}
	if result == nil {
		r.unjudged = fmt.Errorf("%s: the run was not judged: it has no %s; 'lockbench check %s' judges what was recorded", r.dir, results.ResultFile, r.dir)
		return r, nil
	}
	r.md = func(w io.Writer) error { return report.RunMarkdown(w, *result) }
	r.csv = func(w io.Writer) error { return report.RunCSV(w, *result) }
	r.text = func(w io.Writer, s report.Style) error { return report.Run(w, *result, r.dir, s) }
	r.measures = func() []report.Measure { return report.RunMeasures(*result) }
	return r, nil
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

// openStored loads the record with a file name in a directory, or a file of any name in JSON. The error is errAbsent if there is none.
func openStored[T any](path, name string, load func(string) (T, error)) (v T, file string, err error) {
	file, named := results.Stored(path, name)
	if !named && filepath.Ext(path) != ".json" {
		return v, file, errAbsent
	}
	if v, err = load(file); err != nil && !named {
		err = errAbsent
	}
	return v, file, err
}

func openSuite(path string) (record, error) {
	s, file, err := openStored(path, results.SuiteFile, results.LoadSuite)
	dir := filepath.Dir(file)
	return record{dir: dir, file: file,
		html:     func(w io.Writer, base string) error { return page.Suite(w, s, dir, base) },
		junit:    func(w io.Writer) error { return report.SuiteJUnit(w, s) },
		md:       func(w io.Writer) error { return report.SuiteMarkdown(w, s) },
		csv:      func(w io.Writer) error { return report.SuiteCSV(w, s) },
		text:     func(w io.Writer, style report.Style) error { return report.Suite(w, s, "", style) },
		measures: func() []report.Measure { return report.SuiteMeasures(s) }}, err
}

func openBench(path string) (record, error) {
	b, file, err := openStored(path, results.BenchFile, results.LoadBench)
	dir := filepath.Dir(file)
	return record{dir: dir, file: file,
		html:     func(w io.Writer, _ string) error { return page.Bench(w, b) },
		junit:    func(w io.Writer) error { return report.BenchJUnit(w, b) },
		md:       func(w io.Writer) error { return report.BenchSummary(w, b) },
		csv:      func(w io.Writer) error { return report.BenchCSV(w, b) },
		text:     func(w io.Writer, s report.Style) error { return report.Bench(w, b, dir, false, s) },
		measures: func() []report.Measure { return report.BenchMeasures(b) }}, err
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
