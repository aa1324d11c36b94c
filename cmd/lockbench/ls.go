package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
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
	var base, lock, scenario string
	var index bool
	verdict := newChoice("", "pass", "fail", "inconclusive", "not judged", "in progress", "unreadable")
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the runs, suites and benches that were kept",
		Long: "ls lists the runs, suites, benches and findings of explore in a folder, the latest first, each with its time, servers and verdict.\n" +
			"One that a process is still writing is in progress; one whose files are damaged is unreadable.\n\n" +
			"--index also writes the list into the folder as index.html, a page that links the reports and loads nothing.",
		Example: "  lockbench ls\n  lockbench ls --lock token --verdict fail\n  lockbench ls --index\n  lockbench ls -o json",
		Args:    nothing,
		RunE: func(*cobra.Command, []string) error {
			return a.ls(base, index, func(e page.Entry) bool {
				return lock != "" && lock != e.Lock || scenario != "" && scenario != e.Scenario || verdict.value != "" && verdict.value != e.State()
			})
		},
	}
	s := c.Flags()
	s.StringVar(&base, "out", results.DefaultBase, "the folder of runs")
	s.StringVar(&lock, "lock", "", "only runs of this lock")
	s.StringVar(&scenario, "scenario", "", "only runs of this scenario")
	s.Var(&verdict, "verdict", "only those with this verdict")
	s.BoolVar(&index, "index", false, "also write the list as index.html, with links to the reports")
	return c
}

func (a *app) ls(base string, index bool, omitted func(page.Entry) bool) error {
	all, err := storedIn(base)
	if err != nil {
		return err
	}
	kept := len(all)
	all = slices.DeleteFunc(all, omitted)
	if index {
		file := filepath.Join(base, "index.html")
		if err := results.SaveFile(file, func(w io.Writer) error { return page.Index(w, all) }); err != nil {
			return err
		}
		a.say("index: %s", file)
	}
	switch {
	case a.json():
		return a.writeJSON(all)
	case len(all) == 0 && kept > 0:
		a.say("none of %s in %s is such a run", report.Plural(kept, "record"), base)
		return nil
	case len(all) == 0:
		a.say("no runs in %s", base)
		return nil
	}
	line := func(when, verdict, server, what string) []string {
		return report.Wrap(columns, fmt.Sprintf("%-18s%-14s%-11s", when, verdict, report.Short(report.Clean(server), 10)), report.Clean(what))
	}
	lines := line("when (UTC)", "verdict", "server", "what")
	for _, r := range all {
		lines = append(lines, line(r.When.Format("2006-01-02 15:04"), r.State(), r.Server, r.Kind+" "+r.What)...)
		lines = append(lines, "  "+report.Clean(r.Name()))
	}
	_, err = fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

// storedIn lists a folder of runs, the latest first. It skips other files. The default folder is
// missing until there is a run in it; any other must exist.
func storedIn(base string) ([]page.Entry, error) {
	all := []page.Entry{}
	entries, err := os.ReadDir(base)
	if base == results.DefaultBase && errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, asInput(err)
	}
	for _, e := range entries {
		if !e.IsDir() { // a link is not: latest leads to one that is listed anyway
			continue
		}
		dir := filepath.Join(base, e.Name())
		if !slices.ContainsFunc([]string{results.SuiteFile, results.BenchFile, results.RunFile}, func(name string) bool { return exists(filepath.Join(dir, name)) }) {
			continue
		}
		r, err := openRecord(dir)
		one := r.entry
		if err != nil && !errors.Is(err, errFinding) {
			one = page.Entry{Kind: cmp.Or(one.Kind, "run"), What: "of which a file is damaged", Problem: err.Error()}
			if info, err := os.Stat(dir); err == nil { // it does not say when it began
				one.When = info.ModTime().UTC()
			}
		}
		one.Dir, one.Busy = dir, results.Held(dir)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b page.Entry) int { return cmp.Or(b.When.Compare(a.When), cmp.Compare(a.Dir, b.Dir)) })
	return all, nil
}
