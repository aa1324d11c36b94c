package results

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

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

// Judge sets the verdict of the sweep, WorstSafety of its points, and collects their notes. A sweep
// that lacks points never passes.
func (s *Sweep) Judge() {
	var all []checker.Result
	for _, p := range s.Points {
		all = append(all, p.Verdict)
		s.Notes = append(s.Notes, p.Notes...)
	}
	s.Notes = joinNotes(s.Notes)
	if len(all) < s.Asked {
		all = slices.DeleteFunc(all, func(v checker.Result) bool { return v == checker.Pass })
	}
	s.Verdict = WorstSafety(all)
}

var numeral = regexp.MustCompile(`\b\d+(\.\d+)?\b`)

// joinNotes joins notes that differ only in their numbers: "10 schedules" and "14 schedules" become
// "10 to 14 schedules".
func joinNotes(notes []string) (out []string) {
	alike := map[string][]string{}
	var forms []string
	for _, n := range notes {
		form := numeral.ReplaceAllString(n, "0")
		if alike[form] == nil {
			forms = append(forms, form)
		}
		alike[form] = append(alike[form], n)
	}
	for _, form := range forms {
		at := -1
		out = append(out, numeral.ReplaceAllStringFunc(alike[form][0], func(string) string {
			at++
			return between(alike[form], at)
		}))
	}
	return out
}

// between returns the range of the i-th numbers of notes.
func between(notes []string, i int) string {
	var all []string
	for _, n := range notes {
		all = append(all, numeral.FindAllString(n, -1)[i])
	}
	value := func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64) // a numeral
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Compare(x, y)
	}
	low, high := slices.MinFunc(all, value), slices.MaxFunc(all, value)
	if low == high {
		return low
	}
	return low + " to " + high
}
