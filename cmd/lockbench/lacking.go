package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
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

// errors returns what is lacking, and of more than three errors how many there are.
func (l *lacking) errors() (all error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, what := range slices.Sorted(maps.Keys(l.of)) {
		one := fmt.Errorf("%s: %w", what, l.of[what])
		if i == 3 {
			return errors.Join(all, fmt.Errorf("%d more: %w", len(l.of)-i, one))
		}
		all = errors.Join(all, one)
	}
	return all
}
