package checker

import (
	"math"

	"github.com/lockbench/lockbench/history"
)

// Span is a stretch of time, in nanoseconds on the run's base. To is math.MaxInt64 where nothing ends it.
type Span struct{ From, To int64 }

// Hold is one hold of one client on one key: what it began with, what renewed and ended it, and for how long who counted on it. It is made in one
// pass over the record (VERDICTS §1); judges, stories and pictures read it and derive nothing anew.
type Hold struct {
	Client, Token string
	Mode          history.Mode
	Fence         uint64              // 0: none
	Acquire       history.Operation   // the granted acquire
	Grants        []history.Operation // re-entries and granted extends, in order
	Belief        []Span              // what the lock had told the client, with gaps where an extend came late
	Possible      Span                // from the earliest to the latest instant at which the server can have kept it
	Uses          []history.Operation // critical sections within it
	Release       *history.Operation  // nil: none
}

// Witness is what shows a violation, and everything that its story needs.
type Witness struct {
	Holds      []Hold              // by start; the last is the one that conflicts with those before it
	Operations []history.Operation // others that show it: the refusal, write, release, extend
	Fault      *history.Window     // nil: none
}

// CountCauses counts the causes of the kept violations anew and picks each property's first one in time. Whoever fills in causes calls it
// afterwards.
func (v *Verdict) CountCauses() {
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Causes, p.First = nil, nil
		for j := range v.Violations {
			found := &v.Violations[j]
			if found.Property != p.Name || found.WithinClockError {
				continue
			}
			if p.First == nil || found.At < p.First.At {
				first := *found
				p.First = &first
			}
			if p.Causes == nil {
				p.Causes = map[history.Cause]int{}
			}
			p.Causes[found.Cause]++
		}
	}
}

// witnessOf groups the operations that show a violation into holds.
func witnessOf(h history.Header, ops []history.Operation) (w Witness) {
	open := map[string]int{} // by client: its last hold + 1
	for i := range ops {
		op := ops[i]
		at := open[op.Client] - 1
		reentry := at >= 0 && w.Holds[at].Release == nil && h.Kind == history.Reentrant
		switch {
		case op.Op == history.Acquire && op.Outcome == history.OK && !reentry:
			end := until(h, &op)
			hold := Hold{Client: op.Client, Token: op.Token, Mode: op.Mode, Fence: op.Fence, Acquire: op,
				Belief: []Span{{op.Return, end}}, Possible: Span{op.Call, max(end, plus(op.Return, h.Lease))}}
			if h.Lease == 0 {
				hold.Possible.To = math.MaxInt64
			}
			w.Holds = append(w.Holds, hold)
			open[op.Client] = len(w.Holds)
		case at < 0 || op.Op == history.Acquire && op.Outcome != history.OK || op.Op == history.Write:
			w.Operations = append(w.Operations, op)
		default:
			w.Holds[at].take(h, op)
		}
	}
	return w
}

// take adds what happened in an open hold.
func (d *Hold) take(h history.Header, op history.Operation) {
	last := &d.Belief[len(d.Belief)-1]
	switch {
	case op.Op == history.Use:
		d.Uses = append(d.Uses, op)
	case op.Op == history.Release:
		d.Release = &op
		last.To = max(last.From, min(last.To, op.Call))
		if op.Outcome == history.OK {
			d.Possible.To = min(d.Possible.To, op.Return)
		}
	case op.Op == history.Lost:
		last.To = max(last.From, min(last.To, op.Call))
	case op.Outcome == history.OK:
		d.Grants = append(d.Grants, op)
		end := until(h, &op)
		if op.Return > last.To {
			d.Belief = append(d.Belief, Span{op.Return, end})
		} else {
			last.To = end
		}
		d.Possible.To = max(d.Possible.To, end)
	}
}
