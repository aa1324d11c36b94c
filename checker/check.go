package checker

import (
	"context"

	"github.com/lockbench/lockbench/history"
)

// Source yields the operations of a history, in any order. Next fills op and returns io.EOF after the last.
// *history.Reader is one.
type Source interface {
	Next(op *history.Operation) error
}

// Input is a recorded run.
type Input struct {
	Header   history.Header
	Ops      Source
	Commands []history.Command // may be empty: causes are then less certain
	Faults   []history.Window
}

// Options tunes a check; the zero value is the documented default of each field.
type Options struct {
	Plain            bool                 // unwindowed Porcupine instead of windows, for comparison
	Budget           int64                // nanoseconds that Porcupine may take in all; 0 means 10 s
	Seed             uint64               // draws the random sample of clean windows
	MaxViolations    int                  // how many are kept with their story per property; 0 means 20
	Grace            int64                // nanoseconds beyond the lease within which a free lock must be obtained; 0 means one lease, at least 1 s
	MinOpportunities int                  // below which a clean mutual-exclusion is inconclusive; 0 means 1
	Leftovers        []string             // what was found left behind after everybody was done, in words; nil: nobody looked
	Store            map[string]StoreEnds // what the guarded store held before the first write and at the end, by key
}

// StoreEnds are the values of one guarded key. nil: not known; the first read then stands for Initial.
type StoreEnds struct{ Initial, Final *int64 }

// Check judges a history. An error is a broken assumption about the record (*history.SyntaxError or ErrAssumption),
// never a verdict.
func Check(ctx context.Context, in Input, opt Options) (*Verdict, error) { panic("not yet") }
