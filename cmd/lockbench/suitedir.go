package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

// suiteDir is the directory of a suite in progress. It keeps the runs that do not end as expected;
// with --keep-all, all.
type suiteDir struct {
	path string
	all  bool // --keep-all

	mu   sync.Mutex // cells run side by side; protects what follows
	last map[[2]string]try
	errs []error
}

// try is what is left of the last run of a cell, by its lock and scenario.
type try struct {
	dir   string      // "": not kept
	scene *page.Scene // one of its violations, for the suite's page; nil: none
	lacks error       // of the environment, why it has no verdict
}

// keep saves the reports of a run that is kept, and deletes any other, and the earlier run of the
// same cell.
func (d *suiteDir) keep(c results.Cell, out *harness.Outcome, err error) string {
	var now try
	var failed error
	if _, err = onceFull(err); c.Observed == results.NothingObserved && exitCode(err) == exitEnvironment {
		now.lacks = err
	}
	if out != nil {
		now.scene = sceneOf(c, out)
	}
	switch {
	case out == nil || out.Dir == "":
	case d.all || report.Unexpected(c):
		now.dir, failed = out.Dir, saveViews(out)
	default:
		failed = os.RemoveAll(out.Dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := [2]string{c.Lock, c.Scenario}
	if earlier := d.last[at].dir; earlier != "" && !d.all {
		failed = errors.Join(failed, os.RemoveAll(earlier))
	}
	d.last[at], d.errs = now, append(d.errs, failed)
	return now.dir
}

// sceneOf returns the violation that a cell's page shows: of those that decide its ending, the one
// with the shortest story.
func sceneOf(c results.Cell, out *harness.Outcome) *page.Scene {
	if out.Verdict == nil || len(out.Verdict.Violations) == 0 {
		return nil
	}
	property := c.Worst().Property
	rank := func(v checker.Violation) int {
		switch {
		case len(v.Story) == 0:
			return 2
		case v.Property != property:
			return 1
		}
		return 0
	}
	best := slices.MinFunc(out.Verdict.Violations, func(a, b checker.Violation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.Story), len(b.Story)), cmp.Compare(a.At, b.At))
	})
	s := page.NewScene(&best, c.Lock, c.Scenario, out.Record.Commands)
	return &s
}

// lacks returns what the environment lacked for cells, and of more than three errors how many
// there are.
func (d *suiteDir) lacks() error {
	all := map[string]error{}
	for at, last := range d.last {
		if last.lacks != nil {
			all[at[0]+" × "+at[1]] = last.lacks
		}
	}
	return lacking(all)
}

// saveScenes writes the violations of the cells, in the order of the cells.
func (d *suiteDir) saveScenes(s results.Suite) error {
	var all []page.Scene
	for _, c := range s.Cells {
		if scene := d.last[[2]string{c.Lock, c.Scenario}].scene; scene != nil {
			all = append(all, *scene)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return results.SaveFile(filepath.Join(d.path, results.ScenesFile), func(w io.Writer) error { return page.WriteScenes(w, all) })
}

// createFor makes the directory of a suite or a bench, before anything runs that could not be saved
// there or in the file of --store.
func (a *app) createFor(store, base, kind string) (string, error) {
	if err := canStore(store); err != nil {
		return "", err
	}
	id, err := results.NewID(a.random)
	if err != nil {
		return "", err
	}
	d, err := results.Create(base, results.Name(a.now(), id, kind), false)
	if err != nil {
		return "", err
	}
	return d.Path(), nil
}

// canStore returns an error if a file of --store cannot be written; "" is none.
func canStore(path string) error {
	if path == "" {
		return nil
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("%w: --store %s: is a directory", errUsage, path)
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe is written when there is something to write
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) { // its path is the temporary file's
			return &fs.PathError{Op: "--store", Path: path, Err: at.Err}
		}
		return fmt.Errorf("--store %s: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
