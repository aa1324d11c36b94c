package results

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

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
