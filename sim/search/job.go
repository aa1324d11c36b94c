package search

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// Config configures a search through the schedules of a program. A worker gets what has a name in
// JSON.
type Config struct {
	Program   sim.Program `json:"program"`
	Bounds    sim.Bounds  `json:"bounds"`
	Strategy  string      `json:"strategy"`            // "" means Mixed
	Seed      uint64      `json:"seed"`                // of the search
	Schedules int         `json:"schedules,omitempty"` // at most; 0 means no limit
	// "property" or "property/cause": other violations are counted but are no findings; nil means
	// all are
	Seek []string `json:"seek,omitempty"`
	// of real time; 0 means no limit. Without limits a random search that finds nothing runs until
	// its context ends
	Budget  time.Duration `json:"-"`
	Workers int           `json:"-"` // processes; 0 means one per core
	// one of several searches, on different machines, that divide the schedules; zero: the only one
	Shard Shard `json:"-"`
	// Command starts a worker; nil means this program again, which must call WorkerMain when
	// IsWorker says so.
	Command []string `json:"-"`
	// Env is appended to a worker's environment.
	Env []string `json:"-"`
	// Known finds the variant in this process; nil for a program that carries it. A worker has its
	// own; see WorkerMain.
	Known sim.Catalogue `json:"-"`
}

// Shard is one of Count searches with the same settings and seed that divide the schedules. Index
// counts from 1. It is a type of this package, since whoever tests a lock compiles what this
// package imports.
type Shard struct{ Index, Count int }

// of returns how many of the first n schedules belong to the shard: every Count-th, beginning with
// number Index-1.
func (s Shard) of(n int) int { return (n - s.Index + s.Count) / s.Count }

// searchJob is one worker's part of a search.
type searchJob struct {
	Config
	Part   int   `json:"part"`             // this worker's number, from 0
	Parts  int   `json:"parts"`            // number of workers
	First  int   `json:"first,omitempty"`  // number of the first schedule; later ones are Parts apart
	Prefix []int `json:"prefix,omitempty"` // of an exhaustive schedule to repeat
	// report every choice as it is made, to get the tape of a schedule that kills its process
	Echo bool `json:"echo,omitempty"`
}

// seeks reports whether a violation is a finding.
func (c Config) seeks(b broken) bool {
	return !b.Excepted && (len(c.Seek) == 0 || slices.Contains(c.Seek, b.key()) || slices.Contains(c.Seek, string(b.Property)))
}

func (c Config) check() error {
	for _, name := range c.Program.Also {
		if _, ok := workloads.Find(name); !ok {
			return fmt.Errorf("explore: no workload is called %q", name)
		}
	}
	switch c.Strategy {
	case Exhaustive, Random, PCT, Mixed:
	default:
		return fmt.Errorf("explore: no strategy is called %q; there are %s, %s, %s and %s", c.Strategy, Exhaustive, Random, PCT, Mixed)
	}
	for _, f := range c.Bounds.Faults {
		switch kind, _ := faults.FindKind(f); {
		case kind.Placed == faults.NotPlaced:
			return fmt.Errorf("explore: a search cannot place %q; it can place %v", f, sim.Placeable())
		case kind.Placed == faults.BeforeSearch && c.Strategy == Exhaustive:
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
