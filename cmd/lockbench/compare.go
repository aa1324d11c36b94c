package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

func newCompare(a *app) *cobra.Command {
	var o bench.CompareOptions
	f := reportFlags{form: newChoice("text", "text", "md", "html")}
	c := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Compare two runs, benches, suites, or directories of runs",
		Long: "compare shows what changed from BASE to NEW. Safety comes first: a lock that held and\n" +
			"breaks now exits 1. A figure that is slower beyond --threshold and beyond the noise\n" +
			"(Mann-Whitney U test, corrected for the number of comparisons) exits 2. Too few\n" +
			"samples, or environments that differ, exit 3.\n\n" +
			"Benches are compared by their ratio to the reference of the same repetition, so\n" +
			"that a machine that is slower today is slower for both; --raw compares the figures\n" +
			"themselves. Of directories of runs, the runs of one lock in one scenario are the\n" +
			"samples.\n\n" +
			"-f md is a summary for a pull request, -f html a page with a chart that loads nothing; both go to stdout, or to the file of -O.",
		Example: "  lockbench compare base.json new.json\n  lockbench compare results/main results/branch\n  lockbench compare base.json new.json -f html -O changes.html",
		Args:    takes("needs BASE and NEW", 2, 2),
		RunE:    func(_ *cobra.Command, args []string) error { return a.compare(args[0], args[1], o, f) },
	}
	f.register(a, c)
	s := c.Flags()
	s.Float64Var(&o.Threshold, "threshold", bench.DefaultThreshold, "least relative change that counts as slower")
	s.BoolVar(&o.AllowEnvironments, "allow-env-diff", false, "compare figures of environments that differ")
	s.BoolVar(&o.Raw, "raw", false, "compare a bench's figures as they were measured, not by their ratio to the reference")
	return c
}

func (a *app) compare(base, now string, o bench.CompareOptions, f reportFlags) error {
	if err := checkThreshold(o); err != nil {
		return err
	}
	before, err := loadCompared(base)
	if err != nil {
		return err
	}
	after, err := loadCompared(now)
	if err != nil {
		return err
	}
	if kindOf(before) != kindOf(after) {
		return fmt.Errorf("%w: %s is %s and %s is %s: both must be the same", errUsage, base, kindOf(before), now, kindOf(after))
	}
	var c results.Comparison
	switch b := before.(type) {
	case results.Bench:
		c = bench.CompareBenches(b, after.(results.Bench), o)
	case results.Suite:
		c = bench.CompareSuites(b, after.(results.Suite), o)
	case []bench.Ran:
		c = bench.CompareRuns(b, after.([]bench.Ran), o)
	}
	c.Base, c.New = base, now
	r := record{value: c, // which is stored nowhere
		html:  func(w io.Writer, _ string) error { return page.Comparison(w, c) },
		text:  func(w io.Writer, style report.Style) error { return report.Comparison(w, c, style) },
		forms: map[string]func(io.Writer) error{"md": func(w io.Writer) error { return report.ComparisonMarkdown(w, c) }}}
	return errors.Join(a.write(r, f), a.summarize(r.forms["md"]),
		map[results.CompareVerdict]error{results.CompareUnsafe: errViolated, results.CompareInconclusive: errInconclusive, results.CompareSlower: errGate}[c.Verdict])
}

// loadCompared loads what is at a path: a suite, a bench, or runs: one, or all of a folder.
func loadCompared(path string) (any, error) {
	r, err := openRecord(path)
	switch r.value.(type) {
	case results.Suite, results.Bench:
		return r.value, err
	}
	var runs []bench.Ran
	if info, noFile := os.Stat(path); noFile == nil && info.IsDir() {
		if runs, err = loadRuns(path); err == nil && len(runs) == 0 {
			err = fmt.Errorf("%s: no run, bench or suite in it", path)
		}
	} else if err == nil {
		runs, err = loadRuns(r.dir)
	}
	if err != nil {
		return nil, asInput(err)
	}
	return runs, nil
}

func kindOf(compared any) string {
	switch compared.(type) {
	case results.Bench:
		return "a bench"
	case results.Suite:
		return "a suite"
	}
	return "a run"
}

// schemaOf returns the schema of a file of JSON, or of one whose first line is a header, such as a
// history. An error says where the file is cut off or wrong.
func schemaOf(path string) (string, error) {
	data, err := foreign.Read(path, foreign.MaxDocument)
	if err != nil {
		return "", asInput(err)
	}
	var head struct{ Schema string }
	if err := foreign.Unmarshal(data, &head); err != nil {
		if first, _, _ := bytes.Cut(data, []byte("\n")); json.Unmarshal(first, &head) == nil && head.Schema != "" {
			return head.Schema, nil
		}
		return "", fmt.Errorf("%w: %s: %w", errUsage, path, err)
	}
	return head.Schema, nil
}

// loadRuns reads the run of a directory, or all runs in it.
func loadRuns(path string) (out []bench.Ran, err error) {
	dirs := []string{path}
	if !exists(filepath.Join(path, results.RunFile)) {
		dirs = runsBelow(path)
	}
	for _, dir := range dirs {
		d, err := results.Open(dir)
		if err != nil {
			return nil, err
		}
		run, r, err := d.Load()
		if err != nil {
			return nil, err
		}
		out = append(out, bench.Ran{Run: run, Result: r})
	}
	return out, nil
}
