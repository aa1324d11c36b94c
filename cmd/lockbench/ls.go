package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

func newLs(a *app) *cobra.Command {
	var base string
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List the runs, suites and benches that were kept",
		Long:    "ls lists the runs, suites and benches of a folder, the latest first, each with its time, servers and verdict.",
		Example: "  lockbench ls\n  lockbench ls -o json",
		Args:    nothing,
		RunE:    func(*cobra.Command, []string) error { return a.ls(base) },
	}
	c.Flags().StringVar(&base, "out", results.DefaultBase, "the folder of runs")
	return c
}

func (a *app) ls(base string) error {
	all, err := storedIn(base)
	if err != nil {
		return err
	}
	if a.json() {
		return a.writeJSON(all)
	}
	if len(all) == 0 {
		a.say("no runs in %s", base)
		return nil
	}
	line := func(when, verdict, server, what string) []string {
		return report.Wrap(columns, fmt.Sprintf("%-18s%-14s%-11s", when, verdict, report.Short(report.Clean(server), 10)), report.Clean(what))
	}
	lines := line("when (UTC)", "verdict", "server", "what")
	for _, r := range all {
		lines = append(lines, line(r.When.Format("2006-01-02 15:04"), cmp.Or(string(r.Verdict), "not judged"), r.Server, r.Kind+" "+r.What)...)
		lines = append(lines, "  "+report.Clean(r.Name()))
	}
	_, err = fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

// storedIn lists a folder of runs, the latest first. It skips other files; a missing folder is empty.
func storedIn(base string) ([]page.Entry, error) {
	all := []page.Entry{}
	entries, err := os.ReadDir(base)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, asInput(err)
	}
	for _, e := range entries {
		if !e.IsDir() { // a link is not: latest leads to one that is listed anyway
			continue
		}
		if r, ok := storedAt(filepath.Join(base, e.Name())); ok {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b page.Entry) int { return cmp.Or(b.When.Compare(a.When), cmp.Compare(a.Dir, b.Dir)) })
	return all, nil
}

// storedAt describes the record in a directory; false if there is none, or it cannot be read.
func storedAt(dir string) (page.Entry, bool) {
	switch {
	case exists(filepath.Join(dir, results.SuiteFile)):
		s, err := results.LoadSuite(dir)
		return page.Entry{Kind: "suite", When: s.Start, What: report.Plural(len(s.Cells), "cell"), Server: s.Server, Verdict: s.Verdict, Dir: dir}, err == nil
	case exists(filepath.Join(dir, results.BenchFile)):
		b, err := results.LoadBench(dir)
		return page.Entry{Kind: "bench", When: b.Start, What: strings.Join(b.Plan.Locks, ", "), Server: b.Server, Verdict: b.Verdict, Dir: dir}, err == nil
	case !exists(filepath.Join(dir, results.RunFile)):
		return page.Entry{}, false
	}
	_, run, result, err := results.Load(dir)
	r := page.Entry{Kind: "run", When: run.Start, What: fmt.Sprintf("%s × %s", run.Lock, run.Scenario), Server: run.Server, Dir: dir}
	if result != nil {
		r.Verdict = result.Verdict
	}
	return r, err == nil
}
