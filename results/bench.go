package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// BenchSchema is the schema name of bench.json and of "bench -o json".
const BenchSchema = "lockbench/bench/v1"

// BenchFile is a bench in its directory.
const BenchFile = "bench.json"

// ErrBench: a file is no stored bench.
var ErrBench = errors.New("not a stored bench")

// Bench is what locks were found to cost side by side, each in the same settings and repetitions.
type Bench struct {
	Schema      string         `json:"schema"`
	Verdict     checker.Result `json:"verdict"` // of safety, over all cells
	Server      string         `json:"server"`
	Seed        uint64         `json:"seed"`
	Start       time.Time      `json:"start"`    // UTC
	Duration    time.Duration  `json:"duration"` // nanoseconds that the whole took
	Plan        BenchPlan      `json:"plan"`
	Environment Environment    `json:"environment"`
	Nodes       []Node         `json:"nodes,omitempty"`
	RoundTrip   Figure         `json:"round_trip"` // of a PING over a connection of the same make, after a pause
	Cells       []BenchCell    `json:"cells"`      // by setting, the reference first in each
	Knees       []Knee         `json:"knees,omitempty"`
	Gates       []GateResult   `json:"gates,omitempty"`
	Baseline    *Comparison    `json:"baseline,omitempty"`
	Interrupted bool           `json:"interrupted,omitempty"`
	Notes       []string       `json:"notes,omitempty"` // warnings that must be shown
	Rerun       string         `json:"rerun"`
}

// BenchPlan is what was asked for.
type BenchPlan struct {
	Locks       []string       `json:"locks"`
	Reference   string         `json:"reference"` // the row that the others are compared with
	Settings    []BenchSetting `json:"settings"`
	Repetitions int            `json:"repetitions"`
	Measure     time.Duration  `json:"measure"` // nanoseconds of each repetition
	WarmUp      time.Duration  `json:"warmup"`  // nanoseconds before each, not measured
	Lease       time.Duration  `json:"lease"`   // nanoseconds
	Relay       bool           `json:"relay"`   // a client that released asks again only when another was granted
	Scenario    string         `json:"scenario,omitempty"`
}

// BenchSetting is one combination of what is varied.
type BenchSetting struct {
	Clients int           `json:"clients"`
	Keys    int           `json:"keys"`
	Hold    time.Duration `json:"hold"`            // nanoseconds inside each hold
	Rate    float64       `json:"rate,omitempty"`  // holds per second by plan; 0: closed loop
	Crash   bool          `json:"crash,omitempty"` // a holder is crashed, and its lock must come free
}

// String says a setting in words, naming only what is out of the ordinary: "8 clients", "8 clients, 64 keys, hold 2ms, 500/s offered".
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
	Verdict   checker.Result    `json:"verdict"` // of safety: every repetition was checked; n/a: not run, and Why
	Why       string            `json:"why,omitempty"`
	Judged    int               `json:"judged"`           // hand-overs that were judged for mutual exclusion
	Breaks    []BenchBreak      `json:"breaks,omitempty"` // what was violated
	Figures   map[string]Figure `json:"figures"`          // by metric name
	Errors    []ErrorCount      `json:"errors,omitempty"`
	Runs      []string          `json:"runs,omitempty"` // run directories, of repetitions that broke a property
}

// BenchBreak is a property that broke while the lock was measured.
type BenchBreak struct {
	Property   history.Property      `json:"property"`
	Violations int                   `json:"violations"`
	Causes     map[history.Cause]int `json:"causes,omitempty"`
	Story      []string              `json:"story,omitempty"` // of the first
}

// Figure is one metric over the repetitions: the median with its interval, in the metric's unit.
type Figure struct {
	Unit    Unit       `json:"unit"`
	Value   *float64   `json:"value"`             // null: too few samples
	Low     *float64   `json:"low"`               // of the 95 % interval; null: too few repetitions for one
	High    *float64   `json:"high"`              //
	Samples int64      `json:"samples"`           // in all repetitions
	Need    int64      `json:"need,omitempty"`    // samples that were needed, when there is no value
	Values  []*float64 `json:"values,omitempty"`  // of each repetition, in their order; null: too few samples in it
	Ratio   *Ratio     `json:"ratio,omitempty"`   // to the reference in the same setting
	Pooled  bool       `json:"pooled,omitempty"`  // no repetition had enough samples by itself: of all together, without an interval
	Highest float64    `json:"highest,omitempty"` // of all repetitions, where the largest one matters
}

// Ratio is a figure divided by the reference's of the same repetition.
type Ratio struct {
	Value   float64  `json:"value"` // median
	Low     *float64 `json:"low"`   // of the 95 % interval; null: too few repetitions
	High    *float64 `json:"high"`
	Differs bool     `json:"differs"` // the interval leaves out 1
}

// Knee is the highest rate at which a lock stayed within a limit.
type Knee struct {
	Lock    string       `json:"lock"`
	Setting BenchSetting `json:"setting"`
	Limit   string       `json:"limit"` // "acquire.p99 <= 20ms"
	Rate    Figure       `json:"rate"`  // offered, over the repetitions; without a value when not even the first step did
	Open    bool         `json:"open"`  // the highest rate that was tried stayed within the limit: the knee lies above
	Steps   []KneeStep   `json:"steps"` // of all repetitions, in the order in which they were tried
}

// KneeStep is one rate that was tried.
type KneeStep struct {
	Repetition int      `json:"repetition"` // from 1
	Offered    float64  `json:"offered"`    // holds per second
	Achieved   float64  `json:"achieved"`   // holds per second
	Value      *float64 `json:"value"`      // of the limited metric
	Within     bool     `json:"within"`     // the limit was kept and the rate was met
}

// LoadBench reads a stored bench, from its file or its directory. The errors are ErrBench and those of the file system.
func LoadBench(path string) (Bench, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, BenchFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Bench{}, fmt.Errorf("stored bench: %w", err)
	}
	var b Bench
	if err := json.Unmarshal(data, &b); err != nil {
		return Bench{}, fmt.Errorf("%s: %w: %w", path, ErrBench, describe(data, err))
	}
	if b.Schema != BenchSchema {
		return Bench{}, fmt.Errorf("%s: %w: its schema is %q, want %s", path, ErrBench, b.Schema, BenchSchema)
	}
	return b, nil
}

// StoreBench writes a bench to a file, whole or not at all.
func StoreBench(path string, b Bench) error {
	data, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return replace(path, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err })
}
