package search

import (
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/story"
	"github.com/lockbench/lockbench/verdicts"
)

// broken is a violation of a schedule.
type broken struct {
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	Story    []string          `json:"story,omitempty"`
	Excepted bool              `json:"excepted,omitempty"` // no lock with a lease can prevent it when its client stalls
	final    bool              // no fault excuses it
	// the grant of a client inside had expired when it was returned, though the lock promises not
	// to return such grants
	expired bool
	stopped bool   // the client could not be told in time that its hold was lost: see stopped
	client  string // the first client affected
	at      int64
}

// key returns "property/cause".
func (b broken) key() string { return verdicts.Break{Property: b.Property, Cause: b.Cause}.String() }

// explainer judges schedules, on one node for explanations: a start takes as long as a schedule.
type explainer struct{ story.Explainer }

func hinders(w history.Window, client string) bool {
	kind, _ := faults.FindKind(w.Fault)
	return (w.Client == client || w.Client == "") && kind.Does.Any(history.Hinders)
}

func record(o sim.Outcome) explain.Record {
	return explain.Record{Header: o.Header, Ops: o.Ops, Commands: o.Commands, Scripts: o.Scripts, Faults: o.Windows, Effects: o.Effects}
}

// withKey returns the first violation with a key; false if there is none.
func withKey(all []broken, key string) (broken, bool) {
	for _, b := range all {
		if b.key() == key {
			return b, true
		}
	}
	return broken{}, false
}
