package page

import (
	"math"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// holdsOf returns the holds of the operations that are drawn.
func holdsOf(g *digest) (out []checker.Hold) {
	open := map[string]int{}
	end := func(at int64) int64 {
		if g.header.Lease == 0 {
			return math.MaxInt64
		}
		return at + g.header.Lease - g.header.Drift
	}
	for _, op := range g.drawn {
		switch i, ok := open[op.Client]; {
		case op.Op == history.Acquire && op.Outcome == history.OK:
			until := op.ValidUntil
			if until == 0 {
				until = end(op.Call)
			}
			open[op.Client] = len(out)
			out = append(out, checker.Hold{Client: op.Client, Token: op.Token, Fence: op.Fence, Mode: op.Mode, Acquire: op, Belief: []checker.Span{{From: op.Return, To: until}},
				Possible: checker.Span{From: op.Call, To: end(op.Return)}})
		case ok && op.Op == history.Extend && op.Outcome == history.OK:
			out[i].Extends = append(out[i].Extends, op)
			out[i].Belief[0].To = end(op.Call)
			out[i].Possible.To = end(op.Return)
		case ok && op.Op == history.Release:
			r := op
			out[i].Release = &r
			out[i].Belief[0].To = min(out[i].Belief[0].To, op.Call)
			out[i].Possible.To = min(out[i].Possible.To, op.Return)
			delete(open, op.Client)
		case ok && op.Op == history.Use:
			out[i].Uses = append(out[i].Uses, op)
		}
	}
	return out
}
