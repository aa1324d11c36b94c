package search

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

type searchJob struct {
	Program   sim.Program `json:"program"`
	Bounds    sim.Bounds  `json:"bounds"`
	Strategy  string      `json:"strategy"`
	Seed      uint64      `json:"seed"`
	Part      int         `json:"part"`  // this worker's number, from 0
	Parts     int         `json:"parts"` // number of workers
	Schedules int         `json:"schedules,omitempty"`
	First     int         `json:"first,omitempty"`  // number of the first schedule; later ones are Parts apart
	Prefix    []int       `json:"prefix,omitempty"` // of an exhaustive schedule to repeat
	// report every choice as it is made, to get the tape of a schedule that kills its process
	Echo bool     `json:"echo,omitempty"`
	All  bool     `json:"all,omitempty"`  // go on after a finding
	Seek []string `json:"seek,omitempty"` // the only findings: "property" or "property/cause"
}

func (j searchJob) seeks(b broken) bool {
	if b.Excepted {
		return false
	}
	return len(j.Seek) == 0 || slices.Contains(j.Seek, b.key()) || slices.Contains(j.Seek, string(b.Property))
}

func (j searchJob) check() error {
	for _, name := range j.Program.Also {
		if _, ok := workloads.Find(name); !ok {
			return fmt.Errorf("explore: no workload is called %q", name)
		}
	}
	switch j.Strategy {
	case Exhaustive, Random, PCT, Mixed:
	default:
		return fmt.Errorf("explore: no strategy is called %q; there are %s, %s, %s and %s", j.Strategy, Exhaustive, Random, PCT, Mixed)
	}
	for _, f := range j.Bounds.Faults {
		switch kind, _ := faults.FindKind(f); {
		case kind.Placed == faults.NotPlaced:
			return fmt.Errorf("explore: a search cannot place %q; it can place %v", f, sim.Placeable())
		case kind.Placed == faults.BeforeSearch && j.Strategy == Exhaustive:
			return fmt.Errorf("explore: an exhaustive search cannot place %q, which is there from the start", f)
		}
	}
	return nil
}

// Strategies by name.
const (
	Exhaustive = explored.Exhaustive // every schedule within the bounds
	Random     = "random"            // uniform choices
	PCT        = "pct"               // priorities with a few changes
	Mixed      = "mixed"             // random and PCT alternately
)
