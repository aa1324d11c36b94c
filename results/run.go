package results

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// RunSchema is the schema name of run.json.
const RunSchema = "lockbench/run/v1"

// Phase is the progress of a run.
type Phase string

// The phases, in order.
const (
	Started Phase = "started" // run.json, the first file, exists
	Driven  Phase = "driven"  // history, faults and latencies are complete
	Checked Phase = "checked" // result.json exists
)

// Run is run.json: what was run, where, and its progress.
type Run struct {
	Schema   string   `json:"schema"`
	ID       string   `json:"id"`
	Argv     []string `json:"argv"` // redacted
	Seed     uint64   `json:"seed"`
	PlanHash string   `json:"plan_hash"` // digest of the resolved scenario, variant and seed
	Lock     string   `json:"lock"`
	Scenario string   `json:"scenario"`
	// LockAbout and ScenarioAbout say in a sentence how the lock works and what the scenario does.
	LockAbout     string `json:"lock_about,omitempty"`
	ScenarioAbout string `json:"scenario_about,omitempty"`

	Workload    string           `json:"workload,omitempty"` // in place of the scenario's; "" = the scenario's own
	Server      string           `json:"server"`             // process, docker, url, sim
	Chosen      string           `json:"chosen,omitempty"`   // why lockbench chose that server; "" = the user did
	Nodes       []history.Server `json:"nodes,omitempty"`
	Environment Environment      `json:"environment"`
	Phase       Phase            `json:"phase"`
	Start       time.Time        `json:"start"`       // UTC
	Duration    time.Duration    `json:"duration"`    // nanoseconds from Start to the end of the last phase reached
	Interrupted bool             `json:"interrupted"` // it was stopped before its end
	// Schedules is how many schedules the simulator ran, of which the record is one; 0 of a run on
	// servers, and before they are run.
	Schedules int `json:"schedules,omitempty"`
	// Store is what the guarded store held before and after, by key; none until the clients are
	// done. It shows the effect of a write with an unknown outcome.
	Store   map[string]checker.StoreEnds `json:"store,omitempty"`
	Failure string                       `json:"failure,omitempty"` // error that ended it
}

func (r Run) validate() error {
	switch {
	case r.Schema != RunSchema:
		return fmt.Errorf("schema is %q, want %q", r.Schema, RunSchema)
	case r.Phase != Started && r.Phase != Driven && r.Phase != Checked:
		return fmt.Errorf("phase is %q, want started, driven or checked", r.Phase)
	case r.Lock == "" || r.Scenario == "":
		return errors.New("lock or scenario is missing")
	}
	return nil
}

// Simulator and Guest are the servers of a run in the simulator, and of one on a Redis given by
// URL.
const (
	Simulator = "sim"
	Guest     = "url"
)
