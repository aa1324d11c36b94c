package results

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// ErrorCount is how often operations of one kind ended in one error.
type ErrorCount struct {
	Op    string `json:"op"`
	Error string `json:"error"` // addresses are left out, so that the same error on two connections is one
	Count int    `json:"count"`
}

// CountErrors counts the operations that failed or whose outcome is unknown, by what went wrong, the most frequent first. A refusal
// is no error.
func CountErrors(ops []history.Operation) []ErrorCount {
	counts := map[ErrorCount]int{}
	for i := range ops {
		op := &ops[i]
		if op.Outcome == history.Fail || op.Outcome == history.Unknown {
			counts[ErrorCount{Op: op.Op.String(), Error: withoutAddresses(op.Err)}]++
		}
	}
	var out []ErrorCount
	for e, n := range counts {
		e.Count = n
		out = append(out, e)
	}
	return sortErrors(out)
}

// AddErrors adds the counts of two runs.
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

// withoutAddresses replaces each address and port by one word.
func withoutAddresses(text string) string { return address.ReplaceAllString(text, "ADDR") }
