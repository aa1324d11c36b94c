package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// Shares beyond which a run shows nothing of the lock, because the lock could hardly work in it.
const (
	MostErrors  = 0.10 // of the acquires, that may end in an error
	LeastOfRate = 0.90 // of the offered rate, that must be achieved
)

// AcquireErrors counts the acquires of a run and those that ended in an error. An acquire whose own wait was over, or was cancelled, ended in none.
//
// Acquires that meet a confirmed fault of their client are left out, and all that end after a confirmed fault of a server began, for the server
// may not be what it was: such a scenario means them to fail, and what the run shows is said by its properties.
type AcquireErrors struct {
	Acquires int
	Failed   map[string]int // by the text of the error
}

// CountAcquireErrors counts the errors in operations beside fault windows.
func CountAcquireErrors(ops []history.Operation, windows []history.Window) AcquireErrors {
	e := AcquireErrors{Failed: map[string]int{}}
	for i := range ops {
		op := &ops[i]
		if op.Op != history.Acquire || slices.ContainsFunc(windows, func(w history.Window) bool {
			return w.Confirmed && w.Start <= op.Return && (w.Client == "" || w.Client == op.Client && op.Call <= w.Last())
		}) {
			continue
		}
		e.Acquires++
		if (op.Outcome == history.Fail || op.Outcome == history.Unknown) && op.Err != "" && !ownWait(op.Err) {
			e.Failed[op.Err]++
		}
	}
	return e
}

// ownWait tells the texts of the context's errors.
func ownWait(text string) bool {
	return strings.Contains(text, "context deadline exceeded") || strings.Contains(text, "context canceled")
}

// Add adds up the errors of two runs.
func (e AcquireErrors) Add(other AcquireErrors) AcquireErrors {
	out := AcquireErrors{Acquires: e.Acquires + other.Acquires, Failed: maps.Clone(other.Failed)}
	for text, n := range e.Failed {
		if out.Failed == nil {
			out.Failed = map[string]int{}
		}
		out.Failed[text] += n
	}
	return out
}

// Reason says why a run shows nothing: "39 of 40 acquires failed: OOM command not allowed … (39)". "" while few failed.
func (e AcquireErrors) Reason() string {
	failed, texts := 0, slices.Sorted(maps.Keys(e.Failed))
	for _, n := range e.Failed {
		failed += n
	}
	if float64(failed) <= MostErrors*float64(e.Acquires) {
		return ""
	}
	worst := slices.MaxFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(e.Failed[a], e.Failed[b]), cmp.Compare(b, a)) })
	text := fmt.Sprintf("%d of %d acquires failed: %s", failed, e.Acquires, worst)
	if n := e.Failed[worst]; n < failed {
		text += fmt.Sprintf(" (%d times)", n)
	}
	return text
}

// RateReason says that a run without faults did not meet the rate that was asked for. "" when it did, or none was asked for.
func (t Throughput) RateReason(windows []history.Window) string {
	faulty := slices.ContainsFunc(windows, func(w history.Window) bool { return w.Confirmed })
	if !t.Open || faulty || t.Achieved >= LeastOfRate*t.Offered {
		return ""
	}
	return fmt.Sprintf("%.4g of the %.4g rounds a second that were offered were done", t.Achieved, t.Offered)
}

// Doubt sets why the run shows nothing: a pass becomes inconclusive, a violation stays one. The first reason stays.
func (r *Result) Doubt(reason string) {
	if reason == "" {
		return
	}
	r.Reason = cmp.Or(r.Reason, reason)
	if r.Verdict == checker.Pass {
		r.Verdict = checker.Inconclusive
	}
}
