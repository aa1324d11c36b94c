package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
)

// lacking collects the errors of turns or cells for which this machine or its servers lacked
// something, the last of each.
type lacking struct {
	mu sync.Mutex // cells run side by side
	of map[string]error
}

// note keeps the error of what, if it is one of the environment, in place of the one before; nil
// forgets it.
func (l *lacking) note(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch exitCode(err) {
	case exitOK:
		delete(l.of, what)
	case exitEnvironment:
		l.of[what] = err
	}
}

// mostLacking is how many errors are shown in full.
const mostLacking = 3

// errors returns what is lacking.
func (l *lacking) errors() (all error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, what := range slices.Sorted(maps.Keys(l.of)) {
		if i == mostLacking {
			return errors.Join(all, fmt.Errorf("%d more: %s: %w", len(l.of)-i, what, l.of[what]))
		}
		all = errors.Join(all, fmt.Errorf("%s: %w", what, l.of[what]))
	}
	return all
}

// watch notes the errors of a suite's cells.
func (l *lacking) watch(run cellRunner) cellRunner {
	return func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (results.Result, string, error) {
		r, dir, err := run(ctx, v, s)
		l.note(v.Name+" × "+s.Name, err)
		return r, dir, err
	}
}

// ended forgets the error of a cell that has a verdict, or to which its scenario does not apply.
func (l *lacking) ended(c results.Cell) {
	if c.Observed != results.NothingObserved {
		l.note(c.Lock+" × "+c.Scenario, nil)
	}
}
