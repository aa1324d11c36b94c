package checker

import "github.com/lockbench/lockbench/history"

// Source returns the operations of a history, in any order. Next fills op and returns io.EOF after
// the last. *history.Reader is one.
type Source interface {
	Next(op *history.Operation) error
}

// Input is a recorded run.
type Input struct {
	Header history.Header
	Ops    Source
	// File is the file that Ops are read from, one in each line after the header, for error
	// messages; "" means that they come from elsewhere.
	File     string
	Commands []history.Command // may be empty; those to the guarded store (Node < 0) are ignored
	Faults   []history.Window
	// Effects are what the nodes executed, each node's in its order; nil means not recorded: then
	// no rule that needs them judges.
	Effects []history.Executed
}

// Options configure a check; each zero value is the documented default.
type Options struct {
	Plain         bool   // search with Porcupine without windows, for comparison
	Seed          uint64 // of the random sample of windows
	MaxViolations int    // violations kept with their story, per property; 0 means 20
	// HandOver is the time in nanoseconds within which a waiter must be granted a released lock, if
	// the lock promises to wake its waiters; 0 means one second.
	HandOver int64
	Store    map[string]StoreEnds // values of the guarded store before and after, by key
	// Bare leaves out what is around violations, and confidence intervals: for a small history they
	// take most of the time.
	Bare bool
	// Unsearched leaves linearizability out: Porcupine is not run.
	Unsearched bool

	without string // a rule that is switched off, for the test which shows what each is needed for
}

// StoreEnds are the values of one guarded key; nil means unknown.
type StoreEnds struct {
	Initial *int64 `json:"initial,omitempty"`
	Final   *int64 `json:"final,omitempty"`
}
