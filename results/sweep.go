package results

import (
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/verdicts"
)

// SweepSchema is the schema name of a sweep's result.
const SweepSchema = "lockbench/sweep/v1"

// Sweep is how often a lock broke, by the size of a fault.
type Sweep struct {
	Schema    string         `json:"schema"`
	Verdict   checker.Result `json:"verdict"` // of all points together
	Lock      string         `json:"lock"`
	Scenario  string         `json:"scenario"`
	Server    string         `json:"server"`
	Seed      uint64         `json:"seed"` // of every point's first run
	Parameter string         `json:"parameter"`
	Points    []SweepPoint   `json:"points"`
	Asked     int            `json:"points_asked"` // more than Points if the sweep ended early
	Notes     []string       `json:"notes,omitempty"`
	Rerun     string         `json:"rerun"`
}

// SweepPoint is one size of the fault.
type SweepPoint struct {
	Size       string             `json:"size"`                // "0.2 lease", "300ms"
	Lasted     int64              `json:"size_ns"`             // Size in nanoseconds
	Verdict    checker.Result     `json:"verdict"`             // of all runs
	Runs       int                `json:"runs"`                // in the simulator each is several schedules
	Violated   int                `json:"runs_violated"`       // runs that broke any property
	Properties []checker.Property `json:"properties"`          // mutual-exclusion, exclusive-use, store-integrity
	Failovers  *Failovers         `json:"failovers,omitempty"` // of all runs
	Dirs       []string           `json:"dirs,omitempty"`      // run directories
	Notes      []string           `json:"notes,omitempty"`     // warnings of its runs
}

// SweptProperties are the properties whose rates a sweep shows.
func SweptProperties() []verdicts.Property {
	return []verdicts.Property{verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.StoreIntegrity}
}

// NewSweepPoint returns a point from the sum of its runs' verdicts.
func NewSweepPoint(size string, ns int64, sum *checker.Verdict) SweepPoint {
	p := SweepPoint{Size: size, Lasted: ns, Verdict: sum.Verdict, Properties: []checker.Property{}, Notes: sum.Notes}
	for _, name := range SweptProperties() {
		i := slices.IndexFunc(sum.Properties, func(p checker.Property) bool { return p.Name == name })
		if i >= 0 {
			one := sum.Properties[i]
			one.First = nil // the run directory has its story
			p.Properties = append(p.Properties, one)
		}
	}
	return p
}

// Judge sets the verdict of the sweep, WorstSafety of its points, and collects their notes. A sweep that lacks points never passes.
func (s *Sweep) Judge() {
	var all []checker.Result
	for _, p := range s.Points {
		all = append(all, p.Verdict)
		for _, n := range p.Notes {
			if !slices.Contains(s.Notes, n) {
				s.Notes = append(s.Notes, n)
			}
		}
	}
	if len(all) < s.Asked {
		all = slices.DeleteFunc(all, func(v checker.Result) bool { return v == checker.Pass })
	}
	s.Verdict = WorstSafety(all)
}
