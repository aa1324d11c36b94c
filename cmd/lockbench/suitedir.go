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
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

// suiteDir is the directory of a suite in progress. It keeps the runs that do not end as expected;
// with --keep-all, all.
type suiteDir struct {
	path  string
	all   bool // --keep-all
	lacks lacking

	mu     sync.Mutex // cells run side by side; protects errs and scenes
	errs   []error
	scenes map[[2]string]page.Scene // by lock and scenario: one violation of each cell that broke
}

// show keeps the violation that a cell's page shows: of those that decide its ending, the one with
// the shortest story.
func (d *suiteDir) show(c results.Cell, out *harness.Outcome) {
	if out.Verdict == nil || len(out.Verdict.Violations) == 0 {
		return
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.scenes == nil {
		d.scenes = map[[2]string]page.Scene{}
	}
	d.scenes[[2]string{c.Lock, c.Scenario}] = s
}

// saveScenes writes the violations of the cells, in the order of the cells.
func (d *suiteDir) saveScenes(s results.Suite) error {
	var all []page.Scene
	for _, c := range s.Cells {
		if scene, ok := d.scenes[[2]string{c.Lock, c.Scenario}]; ok {
			all = append(all, scene)
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

func (d *suiteDir) keeps(c results.Cell) bool { return d.all || report.Unexpected(c) }

// cellOf returns the cell of a run.
func cellOf(v impls.Variant, scenario string, r results.Result) results.Cell {
	if v.Planted != nil {
		return results.PlantedCell(r, v.Expect[scenario])
	}
	return results.NewCell(r, v.Expect[scenario])
}

// done deletes the run of a cell that is not kept, and forgets the error of one that has a verdict,
// or to which its scenario does not apply.
func (d *suiteDir) done(c results.Cell) {
	if c.Observed != results.NothingObserved {
		d.lacks.note(c.Lock+" × "+c.Scenario, nil)
	}
	if c.Run == "" || d.keeps(c) {
		return
	}
	err := os.RemoveAll(c.Run)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs = append(d.errs, err)
}

// settle deletes the runs of earlier tries of a repeated cell, and drops paths that no longer
// exist.
func (d *suiteDir) settle(s *results.Suite) error {
	kept := map[string]bool{}
	for i, c := range s.Cells {
		if !d.keeps(c) {
			s.Cells[i].Run = ""
		}
		kept[s.Cells[i].Run] = true
	}
	entries, err := os.ReadDir(d.path)
	errs := append(d.errs, err)
	for _, e := range entries {
		if path := filepath.Join(d.path, e.Name()); !d.all && !kept[path] && e.Name() != results.ScenesFile {
			errs = append(errs, os.RemoveAll(path)) // the link to the latest run, too
		}
	}
	return errors.Join(errs...)
}

func suiteError(s results.Suite) error {
	odd := slices.ContainsFunc(s.Cells, func(c results.Cell) bool { return c.Verdict == checker.Inconclusive })
	return endError(s.Verdict, false, s.Missing > 0 && !odd)
}
