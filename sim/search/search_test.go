package search

import (
	"testing"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

func TestSearchFindsTheMisUnlockAndSparesTheToken(t *testing.T) {
	s := newSimulator(t)
	for _, strategy := range []string{Random, PCT, Mixed} {
		for lock, schedules := range map[string]int{"set-nx-ex": 1000, "token": 500} {
			r, err := Here(t.Context(), Config{Program: program(t, lock, "hot", 2), Bounds: sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1},
				Strategy: strategy, Schedules: schedules, Seek: []string{string(verdicts.MutualExclusion)}}, []sim.Runner{s}, nil)
			if found := r.First != nil; err != nil || found != (lock == "set-nx-ex") {
				t.Errorf("%s, %s: found %v after %d schedules, %v", lock, strategy, found, r.Schedules, err)
			}
		}
	}
}

// TestExhaustiveWalkIsSharedByWorkers: the workers together walk what one walks alone.
func TestExhaustiveWalkIsSharedByWorkers(t *testing.T) {
	walk := func(part, parts int) progress {
		s, err := newSearch(searchJob{Config: Config{Program: program(t, "token", "hot", 1), Bounds: sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1},
			Strategy: Exhaustive}, Part: part, Parts: parts}, newSimulator(t))
		if err == nil {
			err = s.run(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.progress
	}
	alone := walk(0, 1)
	if !alone.Exhausted || alone.Schedules < 100 || alone.Pruned == 0 {
		t.Fatalf("alone: %+v, want an exhausted walk of over 100 schedules, some of them pruned", alone)
	}
	var whole int
	for part := range 2 {
		p := walk(part, 2)
		if !p.Exhausted || p.States == 0 || p.States > alone.States {
			t.Errorf("part %d: %+v, want an exhausted walk of at most the %d states", part, p, alone.States)
		}
		whole += p.States
	}
	if whole < alone.States {
		t.Errorf("two workers saw %d states, one alone %d", whole, alone.States)
	}
}
