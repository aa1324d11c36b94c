package results

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Replay is what became of a tape that was run again.
type Replay struct {
	Schema    string           `json:"schema"`
	Tape      string           `json:"tape"`
	Lock      string           `json:"lock"`
	Server    string           `json:"server"`
	Verdict   checker.Result   `json:"verdict"`   // fail: reproduced; inconclusive: the replay diverged, and nothing broke
	Identical bool             `json:"identical"` // the trace is the tape's, byte for byte; never on real servers
	Property  history.Property `json:"property,omitempty"`
	Cause     history.Cause    `json:"cause,omitempty"`
	Placed    []string         `json:"placed,omitempty"` // on real servers: the tape's faults and where they were placed
	Order     *Order           `json:"order,omitempty"`  // on real servers: how far the last run was led through the tape
	Story     []string         `json:"story,omitempty"`
	Trace     []string         `json:"trace,omitempty"`
	Runs      []string         `json:"runs,omitempty"`
	Notes     []string         `json:"notes,omitempty"`
}

// Order is how far a run on real servers was led through a schedule.
type Order struct {
	Passed int    `json:"passed"` // steps that happened in their order
	Steps  int    `json:"steps"`
	Left   string `json:"left,omitempty"` // where and how the run left the schedule; "" when it did not
}
