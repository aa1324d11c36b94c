package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
)

// suiteDir is the directory of a suite in progress. It keeps the runs that do not end as expected; with --keep-all, all.
type suiteDir struct {
	path string
	all  bool // --keep-all

	mu   sync.Mutex // cells run side by side; protects errs
	errs []error
}

// createFor makes the directory of a suite or a bench, before anything runs that could not be saved there or in the file of --store.
func (a *app) createFor(store, base, kind string) (string, error) {
	if err := canStore(store); err != nil {
		return "", err
	}
	id, err := results.NewID(a.random)
	if err != nil {
		return "", err
	}
	return results.CreateOf(base, kind, a.now(), id)
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

func (d *suiteDir) keeps(c results.Cell) bool {
	return d.all || c.Verdict == checker.Fail || c.Verdict == checker.Inconclusive
}

// keepsRun reports whether a run that has just ended is kept.
func (d *suiteDir) keepsRun(v impls.Variant, scenario string, r results.Result) bool {
	if v.Planted != nil {
		return d.keeps(results.PlantedCell(r, v.Expect[scenario]))
	}
	return d.keeps(results.NewCell(r, v.Expect[scenario]))
}

// done deletes the run of a cell that is not kept.
func (d *suiteDir) done(c results.Cell) {
	if c.Run == "" || d.keeps(c) {
		return
	}
	err := os.RemoveAll(c.Run)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs = append(d.errs, err)
}

// settle deletes the runs of earlier tries of a repeated cell, and drops paths that no longer exist.
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
		if path := filepath.Join(d.path, e.Name()); !d.all && !kept[path] {
			errs = append(errs, os.RemoveAll(path)) // the link to the latest run, too
		}
	}
	return errors.Join(errs...)
}

// verdictOf returns the error for a suite's verdict. A suite that is inconclusive only because it was interrupted ends as interrupted.
func verdictOf(s results.Suite) error {
	odd := slices.ContainsFunc(s.Cells, func(c results.Cell) bool { return c.Verdict == checker.Inconclusive })
	if s.Verdict == checker.Inconclusive && s.Missing > 0 && !odd {
		return nil
	}
	return verdictError(s.Verdict)
}
