package results

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// leastOfRate is the share of the offered rate below which a run says nothing about the lock.
const leastOfRate = 0.90

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
