package results

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Limits beyond which a run says nothing about the lock.
const (
	mostErrors  = 0.10 // largest share of the acquires, extends or releases that end in an error
	leastOfRate = 0.90 // least share of the offered rate that is achieved
)

// Errors counts the acquires, extends and releases of a run and those that ended in an error. One
// that timed out or was cancelled is not an error.
//
// It omits the errors of those that overlap a confirmed fault of their client or end after a
// confirmed fault of a server began: the scenario intends them. A slow network is no such fault:
// see [checker.Excuses].
type Errors struct {
	Calls  map[history.Op]int
	Failed map[failure]int
}

// failure is an error of one kind of operation.
type failure struct {
	op   history.Op
	text string
}

// asking are the operations that ask something of the lock.
var asking = []history.Op{history.Acquire, history.Extend, history.Release}

// CountAllErrors counts the errors of a run that had these windows.
func CountAllErrors(ops []history.Operation, windows []history.Window) (e Errors) {
	for i := range ops {
		e.Count(&ops[i], windows)
	}
	return e
}

// Count adds an operation of a run that had these windows.
func (e *Errors) Count(op *history.Operation, windows []history.Window) {
	if !slices.Contains(asking, op.Op) {
		return
	}
	if e.Calls == nil {
		e.Calls, e.Failed = map[history.Op]int{}, map[failure]int{}
	}
	e.Calls[op.Op]++
	intended := slices.ContainsFunc(windows, func(w history.Window) bool {
		return checker.Excuses(&w) && w.Start <= op.Return && (w.Client == "" || w.Client == op.Client && op.Call <= w.Last())
	})
	if !intended && (op.Outcome == history.Fail || op.Outcome == history.Unknown) && op.Err != "" && !ownWait.MatchString(op.Err) {
		e.Failed[failure{op.Op, op.Err}]++
	}
}

// ownWait matches an error which says that the acquire's context had ended; what came of a request
// under way then may follow.
var ownWait = regexp.MustCompile(`cancelled: |context deadline exceeded|context canceled`)

// Add returns the sum of two counts.
func (e Errors) Add(other Errors) Errors {
	out := Errors{map[history.Op]int{}, map[failure]int{}}
	for _, part := range []Errors{e, other} {
		for op, n := range part.Calls {
			out.Calls[op] += n
		}
		for f, n := range part.Failed {
			out.Failed[f] += n
		}
	}
	return out
}

// Reason returns why a run says nothing about the lock: "39 of 40 acquires failed: OOM command not
// allowed … (30 times)"; "" if few of a kind failed.
func (e Errors) Reason() string {
	for _, op := range asking {
		failed, worst := 0, failure{}
		for _, f := range slices.SortedFunc(maps.Keys(e.Failed), func(a, b failure) int { return cmp.Compare(a.text, b.text) }) {
			if f.op != op {
				continue
			}
			failed += e.Failed[f]
			if e.Failed[f] > e.Failed[worst] {
				worst = f
			}
		}
		if float64(failed) <= mostErrors*float64(e.Calls[op]) {
			continue
		}
		text := fmt.Sprintf("%d of %d %ss failed: %s", failed, e.Calls[op], op, worst.text)
		if n := e.Failed[worst]; n < failed {
			text += fmt.Sprintf(" (%d times)", n)
		}
		return text
	}
	return ""
}

// RateReason reports that a run without faults missed its offered rate; "" if it did not, or if
// none was offered.
func (t Throughput) RateReason(windows []history.Window) string {
	faulty := slices.ContainsFunc(windows, func(w history.Window) bool { return w.Confirmed })
	if !t.Open || faulty || t.Achieved >= leastOfRate*t.Offered {
		return ""
	}
	return fmt.Sprintf("%s of the %s offered rounds per second were achieved: all clients were at work or waiting for the lock; a lower rate, shorter work, more clients or more keys would do",
		rateText(t.Achieved), rateText(t.Offered))
}

func rateText(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// ErrorCount counts one error of one kind of operation.
type ErrorCount struct {
	Op    string `json:"op"`
	Error string `json:"error"` // with addresses replaced by ADDR
	Count int    `json:"count"`
}

// CountErrors counts the operations whose outcome is fail or unknown, by error, most frequent
// first.
func CountErrors(ops []history.Operation) []ErrorCount {
	counts := map[ErrorCount]int{}
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.Fail || op.Outcome == history.Unknown {
			counts[ErrorCount{Op: op.Op.String(), Error: address.ReplaceAllString(op.Err, "ADDR")}]++
		}
	}
	var out []ErrorCount
	for e, n := range counts {
		e.Count = n
		out = append(out, e)
	}
	return sortErrors(out)
}

// AddErrors returns the sum of two counts.
func AddErrors(all, more []ErrorCount) []ErrorCount {
	all = slices.Clone(all)
	for _, e := range more {
		i := slices.IndexFunc(all, func(o ErrorCount) bool { return o.Op == e.Op && o.Error == e.Error })
		if i < 0 {
			all = append(all, e)
		} else {
			all[i].Count += e.Count
		}
	}
	return sortErrors(all)
}

func sortErrors(all []ErrorCount) []ErrorCount {
	slices.SortFunc(all, func(a, b ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Error, b.Error))
	})
	return all
}

var address = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}:\d+\b|\[[0-9a-f:]+\]:\d+`)
