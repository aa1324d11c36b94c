package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Result is the outcome of a judgement: pass, fail or inconclusive, or n/a if the property does not
// apply.
type Result string

// The results.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	Inconclusive  Result = "inconclusive"
	NotApplicable Result = "n/a"
)

// Violation is one violation of a property.
type Violation struct {
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	At       int64             `json:"at"` // nanoseconds on the run's base
	// how long what shows it took, from At: an overlap, a wait, a call, a window
	Lasted  int64    `json:"lasted"`
	Clients []string `json:"clients"` // the wronged client first
	Key     string   `json:"key"`
	Story   []string `json:"story"`           // five to thirteen lines
	Lanes   []string `json:"lanes,omitempty"` // ASCII drawing
	Witness Witness  `json:"-"`               // the holds and operations that show it; filled in
	// store-integrity: what is wrong with the last client's write
	Write            writeFlaw     `json:"-"`
	WithinClockError bool          `json:"within_clock_error,omitempty"`
	Around           *Surroundings `json:"-"` // what its picture shows; nil if it does not come from a check

	of, others []op  // the operations whose holds show it, and those that do by themselves
	grantBy    int64 // so does the last grant that returned by then; 0: none
}

// writeFlaw is what is wrong with a write to the guarded store.
type writeFlaw uint8

// What may be wrong with a write.
const (
	NoFlaw     writeFlaw = iota
	StaleFence           // its fence is below one already written
	StaleHold            // its hold was gone, and under a later one had been written
	LostUpdate           // it read what another had read, and so overwrote what that wrote
)

// Damage is what the guarded store lost.
type Damage struct {
	LostUpdates int   `json:"lost_updates"`
	StaleWrites int   `json:"stale_writes"`
	Expected    int64 `json:"expected"` // the value that the store would hold without lost writes
	Final       int64 `json:"final"`    // the value it holds
	Missing     int64 `json:"missing"`  // expected - final
}

func (d *Damage) add(other Damage) {
	d.LostUpdates += other.LostUpdates
	d.StaleWrites += other.StaleWrites
	d.Expected += other.Expected
	d.Final += other.Final
	d.Missing += other.Missing
}

// Witness is what shows a violation.
type Witness struct {
	Holds      []Hold              // by start; the last conflicts with those before it
	Operations []history.Operation // other operations that show it, by call: the refusal, the write, the release
}

// Surroundings are the record around a violation, on its key: what its story and its picture show.
type Surroundings struct {
	Header history.Header
	Holds  []Hold // by start; those that meet the operations
	// by call: those of the witness, at most nearby before the violation and nearby after it
	Operations []history.Operation
	Faults     []history.Window // by start; those that meet the operations
}

func byTime(x, y Violation) int { return cmp.Compare(x.At, y.At) }

// All returns the operations of a witness, including those of its holds, by call without
// duplicates.
func (w *Witness) All() []history.Operation {
	all := slices.Clone(w.Operations)
	for i := range w.Holds {
		all = append(all, w.Holds[i].Operations()...)
	}
	return inOrder(all)
}
