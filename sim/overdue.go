package sim

import (
	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// toldTooLate reports whether one of the clients of an overlap of uses was told of its last grant before it when that was over, by the
// grant's own word. In virtual time nothing passes between what a lock reads from its clock and what it answers.
func toldTooLate(ops []history.Operation, v checker.Violation) bool {
	for _, client := range v.Clients {
		if g := lastGrant(ops, client, v.At); g != nil && g.ValidUntil != 0 && g.ValidUntil < g.Return {
			return true
		}
	}
	return false
}

// lastGrant is the last grant that a client was told of by an instant; nil when there is none.
func lastGrant(ops []history.Operation, client string, at int64) (last *history.Operation) {
	for i := range ops {
		op := &ops[i]
		granted := op.Op == history.Acquire && op.Outcome == history.OK && op.Client == client && op.Return <= at
		if granted && (last == nil || op.Return >= last.Return) {
			last = op
		}
	}
	return last
}
