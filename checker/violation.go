package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// explain completes a violation that a property found: its operations in order, its cause and, unless it is to stay bare, its story.
// Every violation that leaves the checker with a story has passed here.
func explain(v *Violation, ev *evidence, bare bool) {
	slices.SortStableFunc(v.Operations, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	v.Witness = witnessOf(ev.header, v.Operations)
	s, cause := investigate(v, ev)
	v.Cause = cause
	if !bare {
		tell(v, ev, s)
	}
}
