package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

type reportFlags struct {
	form choice
	file string // "": the place of the form, or stdout
}

func newReport(a *app) *cobra.Command {
	f := reportFlags{form: newChoice("html", "html", "md", "junit", "csv", "json", "text", "gha", "bmf")}
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
		Args:    takes("needs a directory", 1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := openRecord(args[0])
			if err != nil {
				return asInput(err)
			}
			if f.file == "" && f.form.value == "html" && !a.json() {
				f.file = filepath.Join(r.dir, results.ReportFile)
			}
			if err := a.write(r, f); err != nil || !f.toFile() {
				return err
			}
			_, err = fmt.Fprintln(a.out, f.file)
			return err
		},
	}
	f.register(a, c)
	return c
}

// register adds the flags to a command.
func (f *reportFlags) register(a *app, c *cobra.Command) {
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if form := f.form.value; c.Flags().Changed("format") && a.json() && form != "json" {
			return fmt.Errorf("%w: -f %s and -o json ask for two forms: give one of them", errUsage, form)
		}
		return nil
	}
	s := c.Flags()
	s.VarP(&f.form, "format", "f", "what to write")
	s.StringVarP(&f.file, "out-file", "O", "", "where to write it; - for stdout")
}

func (f reportFlags) toFile() bool { return f.file != "" && f.file != "-" }

// write writes a record in the form that was asked for, to its file or to stdout.
func (a *app) write(r record, f reportFlags) error {
	form, base, style := f.form.value, "", a.style()
	if a.json() {
		form = "json"
	}
	if f.toFile() {
		style = report.Style{}
		base, _ = filepath.Rel(filepath.Dir(f.file), r.dir) // else there is no way to it, and no link
	}
	var b bytes.Buffer // whole or not at all
	if err := r.write(&b, form, base, style); err != nil {
		return asInput(err)
	}
	if !f.toFile() {
		_, err := b.WriteTo(a.out)
		return err
	}
	return results.SaveFile(f.file, func(w io.Writer) error { _, err := b.WriteTo(w); return err })
}
