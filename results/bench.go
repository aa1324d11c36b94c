package results

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// BenchSchema is the schema name of bench.json and of "bench -o json".
const BenchSchema = "lockbench/bench/v1"

// BenchFile is the name of a bench's file in its directory.
const BenchFile = "bench.json"

// errBench is returned for a file that is not a stored bench.
var errBench = errors.New("not a stored bench")

// Bench compares the cost of locks in the same settings and repetitions.
type Bench struct {
	Schema      string           `json:"schema"`
	Verdict     checker.Result   `json:"verdict"` // of safety, over all cells
	Server      string           `json:"server"`
	Seed        uint64           `json:"seed"`
	Start       time.Time        `json:"start"`    // UTC
	Duration    time.Duration    `json:"duration"` // nanoseconds
	Plan        BenchPlan        `json:"plan"`
	Environment Environment      `json:"environment"`
	Nodes       []history.Server `json:"nodes,omitempty"`
	RoundTrip   Figure           `json:"round_trip"` // of a PING over an equal connection, after a pause
	Cells       []BenchCell      `json:"cells"`      // by setting, the reference first in each
	Knees       []Knee           `json:"knees,omitempty"`
	Gates       []GateResult     `json:"gates,omitempty"`
	Baseline    *Comparison      `json:"baseline,omitempty"`
	Shard       *Shard           `json:"shard,omitempty"` // of the settings; nil: all
	Interrupted bool             `json:"interrupted,omitempty"`
	Notes       []string         `json:"notes,omitempty"` // warnings that must be shown
	Rerun       string           `json:"rerun"`
	// Suite is what the suite that this version keeps found of the locks: by lock, by scenario. A
	// lock that is not of the catalogue has none.
	Suite map[string]map[string]Ending `json:"suite,omitempty"`
}

// BenchPlan is the configuration of a bench.
type BenchPlan struct {
	Locks       []string       `json:"locks"`
	Reference   string         `json:"reference"` // row with which the others are compared
	Settings    []BenchSetting `json:"settings"`
	Repetitions int            `json:"repetitions"`
	Measure     time.Duration  `json:"measure"` // nanoseconds per repetition
	WarmUp      time.Duration  `json:"warmup"`  // nanoseconds before each repetition, not measured
	Lease       time.Duration  `json:"lease"`   // nanoseconds
	Relay       bool           `json:"relay"`   // a client that released acquires again only after another was granted
	Scenario    string         `json:"scenario,omitempty"`
	Pace        string         `json:"pace,omitempty"` // of open loops
}

// BenchSetting is one combination of the varied parameters.
type BenchSetting struct {
	Clients int           `json:"clients"`
	Keys    int           `json:"keys"`
	Hold    time.Duration `json:"hold"`            // nanoseconds inside each hold
	Rate    float64       `json:"rate,omitempty"`  // offered holds per second; 0: closed loop
	Crash   bool          `json:"crash,omitempty"` // a holder crashes, and its lock must become free
}

// String describes what differs from the default: "8 clients", "8 clients, 64 keys, hold 2ms, 500/s
// offered".
func (s BenchSetting) String() string {
	text := fmt.Sprintf("%d clients", s.Clients)
	if s.Clients == 1 {
		text = "1 client"
	}
	if s.Crash {
		return text + ", one crashes"
	}
	if s.Keys > 1 {
		text += fmt.Sprintf(", %d keys", s.Keys)
	}
	if s.Hold > 0 {
		text += fmt.Sprintf(", hold %v", s.Hold)
	}
	if s.Rate > 0 {
		text += fmt.Sprintf(", %g/s offered", s.Rate)
	}
	return text
}

// BenchCell is one lock in one setting.
type BenchCell struct {
	Lock      string            `json:"lock"`
	Setting   BenchSetting      `json:"setting"`
	Reference bool              `json:"reference,omitempty"`
	Verdict   checker.Result    `json:"verdict"` // of safety, over all repetitions; n/a: not run, see Why
	Why       string            `json:"why,omitempty"`
	Judged    int               `json:"judged"`           // hand-overs checked for mutual exclusion
	Breaks    []BenchBreak      `json:"breaks,omitempty"` // violated properties
	Figures   map[string]Figure `json:"figures"`          // by metric name
	Errors    []ErrorCount      `json:"errors,omitempty"`
	// Spectrum is the wait for the lock by percentile, over all repetitions: points of 1/(1-p) and
	// nanoseconds, while ten samples lie above.
	Spectrum [][2]float64  `json:"spectrum,omitempty"`
	Over     []BenchMoment `json:"over,omitempty"`   // the wait for the lock over the measured time
	Faults   []BenchFault  `json:"faults,omitempty"` // that were in force in it
}

// BenchMoment is the wait for the lock in one part of the measured time, over all repetitions.
type BenchMoment struct {
	At      int64 `json:"at"` // its middle, in nanoseconds from the begin of the measured time
	Samples int64 `json:"samples"`
	P50     int64 `json:"p50,omitempty"` // nanoseconds; 0: too few samples
	P99     int64 `json:"p99,omitempty"`
}

// BenchFault is a fault in the measured time, in nanoseconds from its begin.
type BenchFault struct {
	Fault string `json:"fault"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
}

// Empty reports whether the cell was run and no hold of it was measured.
func (c BenchCell) Empty() bool {
	f, counted := c.Figures["throughput"]
	return counted && f.Samples == 0
}

// BenchBreak is a property that was violated during the measurement.
type BenchBreak struct {
	Property   verdicts.Property      `json:"property"`
	Violations int                    `json:"violations"`
	Causes     map[verdicts.Cause]int `json:"causes,omitempty"`
	Story      []string               `json:"story,omitempty"` // of the first violation
}

// Figure is one metric over the repetitions, in the metric's unit: the median with its interval.
type Figure struct {
	Unit    Unit       `json:"unit"`
	Value   *float64   `json:"value"`            // null: too few samples
	Low     *float64   `json:"low"`              // of the 95 % interval; null: too few repetitions for one
	High    *float64   `json:"high"`             //
	Samples int64      `json:"samples"`          // in all repetitions
	Need    int64      `json:"need,omitempty"`   // samples needed, if there is no value
	Values  []*float64 `json:"values,omitempty"` // by repetition; null: too few samples in it
	Ratio   *Ratio     `json:"ratio,omitempty"`  // to the reference in the same setting
	// the value is of all repetitions' samples together, because no repetition had enough; no
	// interval
	Pooled  bool    `json:"pooled,omitempty"`
	Highest float64 `json:"highest,omitempty"` // maximum over the repetitions, for metrics where it matters
}

// Ratio is a figure divided by the reference's of the same repetition.
type Ratio struct {
	Value   float64  `json:"value"` // median
	Low     *float64 `json:"low"`   // of the 95 % interval; null: too few repetitions
	High    *float64 `json:"high"`
	Differs bool     `json:"differs"` // the interval excludes 1
}

// Knee is the highest rate at which a lock stayed within a limit.
type Knee struct {
	Lock    string       `json:"lock"`
	Setting BenchSetting `json:"setting"`
	Limit   string       `json:"limit"` // "acquire.p99 <= 20ms"
	// offered rate, over the repetitions; no value if even the first step exceeded the limit
	Rate  Figure     `json:"rate"`
	Open  bool       `json:"open"`  // the highest rate tried stayed within the limit: the knee is above it
	Steps []KneeStep `json:"steps"` // of all repetitions, in order
}

// KneeStep is one rate that was tried.
type KneeStep struct {
	Repetition int      `json:"repetition"` // from 1
	Offered    float64  `json:"offered"`    // holds per second
	Achieved   float64  `json:"achieved"`   // holds per second
	Value      *float64 `json:"value"`      // of the limited metric
	Within     bool     `json:"within"`     // the value is within the limit and the rate was achieved
}

// LoadBench reads a stored bench: its file, its directory, or a directory whose latest is a bench.
// An error says that the file has no bench, or comes from the file system.
func LoadBench(path string) (b Bench, err error) {
	path, _ = Stored(path, BenchFile)
	err = loadStored(path, &b, &b.Schema, BenchSchema, errBench)
	return b, err
}

// StoreBench writes a bench to a file, whole or not at all.
func StoreBench(path string, b Bench) error { return saveJSON(path, b) }
