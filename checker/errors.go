package checker

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Errors counts, by operation, the acquires, extends and releases of runs, and those that ended in
// an error: too many errors say that the runs tell nothing about the lock. A call that timed out or
// was cancelled is no error.
//
// It leaves out the errors of calls that overlap a confirmed fault of their client or end after a
// confirmed fault of a server began: the scenario intends them. A slow network is no such fault:
// see [Excuses].
type Errors [history.Lost + 1]Calls

// Calls counts the calls of one operation.
type Calls struct {
	All    int            `json:"all"`
	Failed map[string]int `json:"failed,omitempty"` // by error
}

// Limits on errors.
const (
	mostErrors = 0.10 // largest share of the acquires, extends or releases that end in an error
	maxTexts   = 20   // kept of one operation; others count together
	otherTexts = "other errors"
)

// ownWait matches an error which says that the acquire's context had ended; what came of a request
// under way then may follow.
var ownWait = regexp.MustCompile(`cancelled: |context deadline exceeded|context canceled`)

// Count adds an operation of a run that had these windows.
func (e *Errors) Count(op *history.Operation, windows []history.Window) {
	if op.Op != history.Acquire && op.Op != history.Extend && op.Op != history.Release {
		return
	}
	calls := &e[op.Op]
	calls.All++
	intended := slices.ContainsFunc(windows, func(w history.Window) bool {
		return Excuses(&w) && w.Start <= op.Return && (w.Client == "" || w.Client == op.Client && op.Call <= w.Last())
	})
	if !intended && (op.Outcome == history.Fail || op.Outcome == history.Unknown) && op.Err != "" && !ownWait.MatchString(op.Err) {
		calls.fail(op.Err, 1)
	}
}

// CountAll adds the operations of a run that had these windows.
func (e *Errors) CountAll(ops []history.Operation, windows []history.Window) {
	for i := range ops {
		e.Count(&ops[i], windows)
	}
}

func (c *Calls) fail(text string, n int) {
	if _, known := c.Failed[text]; !known && len(c.Failed) >= maxTexts {
		text = otherTexts
	}
	c.Failed = increased(c.Failed, text, n)
}

// Add returns the sum of two counts.
func (e Errors) Add(other Errors) Errors {
	out := Errors{}
	for _, part := range []Errors{e, other} {
		for op, more := range part {
			calls := &out[op]
			calls.All += more.All
			for _, text := range slices.Sorted(maps.Keys(more.Failed)) { // which count together must not be chance
				calls.fail(text, more.Failed[text])
			}
		}
	}
	return out
}

// Reason returns why runs say nothing about the lock: "39 of 40 acquires failed: OOM command not
// allowed … (30 times)"; "" if few calls of each operation failed.
func (e Errors) Reason() string {
	for _, op := range []history.Op{history.Acquire, history.Extend, history.Release} {
		calls, failed := e[op], 0
		texts := slices.SortedFunc(maps.Keys(calls.Failed), func(a, b string) int {
			return cmp.Or(cmp.Compare(calls.Failed[b], calls.Failed[a]), cmp.Compare(a, b))
		})
		for _, n := range calls.Failed {
			failed += n
		}
		if float64(failed) <= mostErrors*float64(calls.All) {
			continue
		}
		text := fmt.Sprintf("%d of %d %ss failed: %s", failed, calls.All, op, texts[0])
		if n := calls.Failed[texts[0]]; n < failed {
			text += fmt.Sprintf(" (%d times)", n)
		}
		return text
	}
	return ""
}
