package search

import (
	"context"
	"testing"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// overlaps is a judge that considers beliefs only.
func overlaps(_ context.Context, out sim.Outcome, _ bool) ([]broken, history.Reach, error) {
	type belief struct{ from, to int64 }
	var all []belief
	for i, o := range out.Ops {
		if o.Op != history.Acquire || o.Outcome != history.OK {
			continue
		}
		b := belief{o.Return, o.Call + out.Header.Lease}
		for _, r := range out.Ops[i:] {
			if r.Op == history.Release && r.Client == o.Client {
				b.to = min(b.to, r.Call)
				break
			}
		}
		all = append(all, b)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if max(a.from, b.from) < min(a.to, b.to) {
				return []broken{{Property: verdicts.MutualExclusion}}, nil, nil
			}
		}
	}
	return nil, nil, nil
}

// searchFor runs a search of at most n schedules with a judge that considers beliefs only.
func searchFor(t *testing.T, j searchJob, n int) ([]finding, progress) {
	t.Helper()
	j.Schedules = n
	s, err := newSearch(j, newSimulator(t))
	if err != nil {
		t.Fatal(err)
	}
	s.judge = overlaps
	var all []finding
	s.tell = func(l line) {
		if l.Finding != nil {
			all = append(all, *l.Finding)
		}
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all, s.progress
}

func TestSearchFindsTheMisUnlockAndSparesTheToken(t *testing.T) {
	bounds := sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1}
	for _, strategy := range []string{Random, PCT, Mixed} {
		if found, p := searchFor(t, searchJob{Config: Config{Program: program(t, "set-nx-ex", "hot", 2), Bounds: bounds, Strategy: strategy}}, 1000); len(found) == 0 {
			t.Errorf("%s: nothing found in set-nx-ex within %d schedules", strategy, p.Schedules)
		}
		if found, p := searchFor(t, searchJob{Config: Config{Program: program(t, "token", "hot", 2), Bounds: bounds, Strategy: strategy}}, 500); len(found) > 0 {
			t.Errorf("%s: token blamed after %d schedules: %+v", strategy, p.Schedules, found)
		}
	}
}

// TestExhaustiveWalkIsSharedByWorkers: the workers together walk what one walks alone.
func TestExhaustiveWalkIsSharedByWorkers(t *testing.T) {
	j := searchJob{Config: Config{Program: program(t, "token", "hot", 1), Bounds: sim.Bounds{Faults: []string{faults.PauseClient}, MaxFaults: 1}, Strategy: Exhaustive}, Parts: 1}
	_, alone := searchFor(t, j, 0)
	if !alone.Exhausted || alone.Schedules < 100 || alone.Pruned == 0 {
		t.Fatalf("alone: %+v, want an exhausted walk of over 100 schedules, some of them pruned", alone)
	}
	j.Parts = 2
	var whole int
	for j.Part = range 2 {
		_, p := searchFor(t, j, 0)
		if !p.Exhausted || p.States == 0 || p.States > alone.States {
			t.Errorf("part %d: %+v, want an exhausted walk of at most the %d states", j.Part, p, alone.States)
		}
		whole += p.States
	}
	if whole < alone.States {
		t.Errorf("two workers saw %d states, one alone %d", whole, alone.States)
	}
}
