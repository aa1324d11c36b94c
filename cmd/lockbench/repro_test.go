package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/verdicts"
)

// foundIn is a search that found something, whose tape breaks nothing in a correct lock.
func foundIn() search.Result {
	v, _ := catalogue.Find("token")
	return search.Result{
		Exploration: explored.Exploration{Schema: explored.ExploreSchema, First: &explored.Finding{Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock}},
		Tape:        sim.Tape{Program: sim.DefaultProgram(v), Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock}}
}

func TestReproExitCodes(t *testing.T) {
	found := foundIn()
	for _, tt := range []struct {
		name    string
		bug     string
		verdict checker.Result // of every run
		search  search.Result
		err     error // of every run and search
		want    int
	}{
		{"seen", "plain-del-mis-unlock", checker.Fail, search.Result{}, nil, 0},
		{"not seen", "plain-del-mis-unlock", checker.Pass, search.Result{}, nil, 1},
		{"seen, but by another name", "setnx-no-expiry", checker.Fail, search.Result{}, nil, 1},
		{"the run broke", "plain-del-mis-unlock", checker.Pass, search.Result{}, errors.New("no file"), 70},
		{"found", "blind-release", checker.Pass, found, nil, 0},
		{"not found", "blind-release", checker.Pass, search.Result{Exploration: explored.Exploration{Schema: explored.ExploreSchema, Schedules: 9}}, nil, 1},
		{"the search broke", "blind-release", checker.Pass, search.Result{}, errors.New("no worker"), 70},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.verdict)
			w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
				return outcome(e, tt.verdict), tt.err
			}
			w.explorer = func(context.Context, search.Config, func(search.Stats)) (search.Result, error) {
				return tt.search, tt.err
			}
			w.exits(t, tt.want, "repro", tt.bug)
		})
	}
}

// One bug of a list that does not show is enough for 1, and the others are shown all the same.
func TestReproAll(t *testing.T) {
	w := newWorld(checker.Fail)
	w.explorer = func(context.Context, search.Config, func(search.Stats)) (search.Result, error) {
		return foundIn(), nil
	}
	w.exits(t, 1, "repro", "all")
	out := strings.Join(strings.Fields(w.out.String()), " ")
	want(t, "stdout", out, "plain-del-mis-unlock yes", "setnx-no-expiry NO 0.0 s none of [progress/no-expiry] was observed in 4 runs; there was mutual-exclusion/mis-unlock", "reproduced on sim")
	for _, line := range strings.Split(w.out.String(), "\n") {
		if n := len([]rune(line)); n > columns {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}
