package results

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Limits beyond which a run says nothing about the lock.
const (
	mostErrors  = 0.10 // largest share of acquires that end in an error
	leastOfRate = 0.90 // least share of the offered rate that is achieved
)

// AcquireErrors counts the acquires of a run and those that ended in an error. An acquire that timed out or was cancelled is not an error.
//
// It omits acquires that overlap a confirmed fault of their client or end after a confirmed fault of a server began: the scenario intends
// their errors. A slow network is no such fault: see [checker.Excuses].
type AcquireErrors struct {
	Acquires int
	Failed   map[string]int // by the text of the error
}

// CountAcquireErrors counts the errors of acquires.
func CountAcquireErrors(ops []history.Operation, windows []history.Window) (e AcquireErrors) {
	for i := range ops {
		e.Count(&ops[i], windows)
	}
	return e
}

// Count adds an operation of a run that had these windows.
func (e *AcquireErrors) Count(op *history.Operation, windows []history.Window) {
	if op.Op != history.Acquire || slices.ContainsFunc(windows, func(w history.Window) bool {
		return checker.Excuses(&w) && w.Start <= op.Return && (w.Client == "" || w.Client == op.Client && op.Call <= w.Last())
	}) {
		return
	}
	e.Acquires++
	if (op.Outcome == history.Fail || op.Outcome == history.Unknown) && op.Err != "" && !ownWait(op.Err) {
		if e.Failed == nil {
			e.Failed = map[string]int{}
		}
		e.Failed[op.Err]++
	}
}

// ownWait reports whether text says that the acquire's context had ended; what came of a request under way then may follow.
func ownWait(text string) bool {
	return strings.Contains(text, "cancelled: ") || strings.Contains(text, "context deadline exceeded") || strings.Contains(text, "context canceled")
}

// Add returns the sum of two counts.
func (e AcquireErrors) Add(other AcquireErrors) AcquireErrors {
	out := AcquireErrors{Acquires: e.Acquires + other.Acquires, Failed: map[string]int{}}
	for _, failed := range []map[string]int{e.Failed, other.Failed} {
		for text, n := range failed {
			out.Failed[text] += n
		}
	}
	return out
}

// Reason returns why a run says nothing about the lock: "39 of 40 acquires failed: OOM command not allowed … (30 times)"; "" if few failed.
func (e AcquireErrors) Reason() string {
	failed, texts := 0, slices.Sorted(maps.Keys(e.Failed))
	for _, n := range e.Failed {
		failed += n
	}
	if float64(failed) <= mostErrors*float64(e.Acquires) {
		return ""
	}
	worst := slices.MaxFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(e.Failed[a], e.Failed[b]), cmp.Compare(b, a)) })
	text := fmt.Sprintf("%d of %d acquires failed: %s", failed, e.Acquires, worst)
	if n := e.Failed[worst]; n < failed {
		text += fmt.Sprintf(" (%d times)", n)
	}
	return text
}

// RateReason reports that a run without faults missed its offered rate; "" if it did not, or if none was offered.
func (t Throughput) RateReason(windows []history.Window) string {
	faulty := slices.ContainsFunc(windows, func(w history.Window) bool { return w.Confirmed })
	if !t.Open || faulty || t.Achieved >= leastOfRate*t.Offered {
		return ""
	}
	return fmt.Sprintf("%s of the %s offered rounds per second were achieved", rateText(t.Achieved), rateText(t.Offered))
}

func rateText(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Doubt turns a pass into inconclusive because of reason, unless it is empty. The first reason is kept.
func (r *Result) Doubt(reason string) {
	if reason == "" {
		return
	}
	r.Reason = cmp.Or(r.Reason, reason)
	if r.Verdict == checker.Pass {
		r.Verdict = checker.Inconclusive
	}
}

// ErrorCount counts one error of one kind of operation.
type ErrorCount struct {
	Op    string `json:"op"`
	Error string `json:"error"` // with addresses replaced by ADDR
	Count int    `json:"count"`
}

// CountErrors counts the operations whose outcome is fail or unknown, by error, most frequent first.
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
