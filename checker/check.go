package checker

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// Source returns the operations of a history, in any order. Next fills op and returns io.EOF after the last. *history.Reader is one.
type Source interface {
	Next(op *history.Operation) error
}

// Input is a recorded run.
type Input struct {
	Header   history.Header
	Ops      Source
	File     string            // from which Ops come, one in each line after the header, for error messages; "": from no such file
	Commands []history.Command // may be empty; those to the guarded store, whose node is negative, count for nothing
	Faults   []history.Window
	Effects  []history.Executed // what changed data at the nodes, each node's in its order; nil: not known
}

// Options configure a check; each zero value is the documented default.
type Options struct {
	Plain         bool   // search with Porcupine without windows, for comparison
	Seed          uint64 // of the random sample of clean windows
	MaxViolations int    // violations kept with their story, per property; 0 means 20
	// HandOver is the time in nanoseconds within which a waiter must be granted a released lock, if the lock promises to wake its waiters; 0 means
	// one second.
	HandOver int64
	Store    map[string]StoreEnds // values of the guarded store before the first write and at the end, by key
	// Bare leaves out the surroundings of violations and the confidence intervals, which take most of the time for a small history. A search that
	// checks thousands of schedules a second asks for them once it has found something.
	Bare bool
	// Unsearched skips the search for an order where the sweep finds nothing that needs it: linearizability is then not judged.
	Unsearched bool

	without map[string]bool // rules of the checker that are switched off
	whole   int             // up to how many operations a key is searched as a whole; 0 means maxEffects
	tried   int             // effects tried for one question, of a key with many parts; 0 means maxTried
}

// StoreEnds are the values of one guarded key. nil: unknown; the first read then counts as Initial.
type StoreEnds struct {
	Initial *int64 `json:"initial,omitempty"`
	Final   *int64 `json:"final,omitempty"`
}

// withDefaults sets the zero fields to their defaults.
func (o Options) withDefaults() Options {
	if o.whole == 0 {
		o.whole = maxEffects
	}
	if o.tried == 0 {
		o.tried = maxTried
	}
	if o.MaxViolations == 0 {
		o.MaxViolations = 20
	}
	return o
}

// Check judges a history. An error means that the record breaks an assumption in a line (*history.SyntaxError) or in the whole, or comes from the
// context; it is never a verdict.
//
// It reads the source once and then works on a compact copy in memory. The time is proportional to n log n at worst, and to n if the file is nearly in
// order, whether or not the history is legal. Keys are judged concurrently.
func Check(ctx context.Context, in Input, opt Options) (*Verdict, error) {
	if in.Header.Permits == 0 {
		in.Header.Permits = 1
	}
	opt = opt.withDefaults()
	a, err := load(ctx, in)
	if err != nil {
		return nil, err
	}
	ev := newEvidence(in, a)
	ev.takesPart = a.clientNames()
	tallies, damage, err := a.judgeAll(ctx, ev, opt)
	if err != nil {
		return nil, err
	}
	return a.verdict(tallies, damage, ev, opt), nil
}
