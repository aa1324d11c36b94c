package results

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/checker"
)

// RunSchema is the schema name of run.json.
const RunSchema = "lockbench/run/v1"

// Phase is how far a run got.
type Phase string

// The phases, in order. What each promises: started, that run.json is there, the first of all files; driven, that history,
// faults and latencies are complete; checked, that result.json is there.
const (
	Started Phase = "started"
	Driven  Phase = "driven"
	Checked Phase = "checked"
)

// Run is run.json: what was run, where, and how far it got.
type Run struct {
	Schema      string        `json:"schema"`
	ID          string        `json:"id"`
	Argv        []string      `json:"argv"` // redacted
	Seed        uint64        `json:"seed"`
	PlanHash    string        `json:"plan_hash"` // digest of the resolved scenario, variant and seed
	Lock        string        `json:"lock"`
	Scenario    string        `json:"scenario"`
	Server      string        `json:"server"`           // process, docker, url, sim, miniredis
	Chosen      string        `json:"chosen,omitempty"` // why that server, when it was picked by itself
	Nodes       []Node        `json:"nodes,omitempty"`  // version and persistence settings of each
	Environment Environment   `json:"environment"`
	Phase       Phase         `json:"phase"`
	Start       time.Time     `json:"start"`       // UTC
	Duration    time.Duration `json:"duration"`    // nanoseconds from Start to the end of the last phase reached
	Interrupted bool          `json:"interrupted"` // somebody stopped it before its end
	// Store is what the guarded store held before and after, by key; none until the clients are done. The history cannot tell what a
	// write of unknown outcome came to.
	Store   map[string]checker.StoreEnds `json:"store,omitempty"`
	Failure string                       `json:"failure,omitempty"` // why it got no further, when that was an error
}

// validate refuses what could not be told from a good record later.
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
