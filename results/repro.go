package results

// ReproSchema is the schema name of a reproduction's result.
const ReproSchema = "lockbench/repro/v1"

// Repro is what became of an attempt to reproduce a named bug.
type Repro struct {
	Schema     string   `json:"schema"`
	Name       string   `json:"name"`
	What       string   `json:"what"`
	Source     string   `json:"source"`
	Lock       string   `json:"lock"`
	Scenario   string   `json:"scenario,omitempty"` // "" for a search
	Tape       string   `json:"tape,omitempty"`     // that was followed in place of the scenario
	Server     string   `json:"server"`
	Expected   []string `json:"expected"`         // one of them must be seen
	Observed   []string `json:"observed"`         // all that was seen, "property/cause"
	Spared     string   `json:"spared,omitempty"` // the lock that was to survive the same, and did
	Reproduced bool     `json:"reproduced"`       // the bug was seen, and its twin, if any, survived
	Attempts   int      `json:"attempts"`         // runs of the lock, or schedules of a search
	Why        string   `json:"why,omitempty"`    // it was not reproduced
	Story      []string `json:"story,omitempty"`  // of what was seen
	Runs       []string `json:"runs,omitempty"`   // run directories
	Seconds    float64  `json:"seconds"`
	Command    string   `json:"command"`
}
