package results

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/verdicts"
)

// Replay is the result of running a tape again.
type Replay struct {
	Schema string `json:"schema"`
	Tape   string `json:"tape"`
	Lock   string `json:"lock"`
	Server string `json:"server"`
	// fail: reproduced; inconclusive: the replay diverged, with no violation
	Verdict   checker.Result    `json:"verdict"`
	Identical bool              `json:"identical"` // the trace equals the tape's; never on real servers
	Property  verdicts.Property `json:"property,omitempty"`
	Cause     verdicts.Cause    `json:"cause,omitempty"`
	Instead   string            `json:"instead,omitempty"` // property/cause that was broken when the tape's was not
	// on real servers: the tape's faults and where they were placed
	Placed []string      `json:"placed,omitempty"`
	Order  *faults.Order `json:"order,omitempty"` // on real servers: how far the last run followed the tape
	Story  []string      `json:"story,omitempty"`
	Trace  []string      `json:"trace,omitempty"`
	Runs   []string      `json:"runs,omitempty"`
	Notes  []string      `json:"notes,omitempty"`
}

// ReproSchema is the schema name of a reproduction's result.
const ReproSchema = "lockbench/repro/v1"

// Repro is the result of an attempt to reproduce a named bug.
type Repro struct {
	Schema     string   `json:"schema"`
	Name       string   `json:"name"`
	What       string   `json:"what"`
	Source     string   `json:"source"`
	Lock       string   `json:"lock"`
	Scenario   string   `json:"scenario,omitempty"` // "" for a search
	Tape       string   `json:"tape,omitempty"`     // followed instead of the scenario
	Server     string   `json:"server"`
	Expected   []string `json:"expected"`         // one of them must be observed, "property/cause"
	Observed   []string `json:"observed"`         // "property/cause"
	Spared     string   `json:"spared,omitempty"` // control lock that held, as expected
	Reproduced bool     `json:"reproduced"`       // the bug was observed, and the control lock, if any, survived
	Attempts   int      `json:"attempts"`         // runs of the lock, or schedules of a search
	Why        string   `json:"why,omitempty"`    // why it was not reproduced
	Story      []string `json:"story,omitempty"`  // of the violation
	Runs       []string `json:"runs,omitempty"`   // run directories
	Seconds    float64  `json:"seconds"`
	Command    string   `json:"command"`
}
