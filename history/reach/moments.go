package reach

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Moments of a run, beside its faults.
const (
	wait     = "a wait"
	refusal  = "a refused acquire"
	handOver = "a hand-over to another client"
	expiry   = "a hold beyond its lease"
	refused  = "a refused release"
	unknown  = "a call without an answer"
	extend   = "an extend or a renewal"
	loss     = "a notice of a loss"
	readers  = "readers at once"
)

// Plan is what a run had in store for a lock, beside what the header of its record says.
type Plan struct {
	Faults      []string
	Waits       bool  // clients wait for the lock, rather than ask once
	Poll        int64 // nanoseconds between two tries of a waiter
	Extends     bool
	TellsLosses bool
}

// Of returns what a run reached of its faults and moments: each of them once, however often.
func Of(r history.Recorded, faults []history.Window, p Plan) Counts {
	c := Counts{}
	c.Could(p.could(r.Header)...)
	for _, w := range faults {
		if w.Confirmed {
			c[w.Fault] = 1
		}
	}
	m := moments{counts: c, lease: r.Header.Lease, tries: p.Poll / 2, granted: map[string]string{}}
	for i := range r.Ops {
		m.add(&r.Ops[i])
	}
	if history.Linked(r.Commands) {
		m.saw(extend, slices.ContainsFunc(r.Commands, background))
	}
	return c
}

// background reports whether a client sent a command outside any operation, as a watchdog does.
func background(c history.Command) bool { return c.Op == 0 && c.Node >= 0 }

// could returns what a run can reach.
func (p Plan) could(h history.Header) []string {
	all := append([]string{handOver, refused}, p.Faults...)
	for what, can := range map[string]bool{
		wait: p.Waits, refusal: !p.Waits, unknown: len(p.Faults) > 0, expiry: h.Lease > 0,
		extend: p.Extends || h.Renews, loss: p.TellsLosses, readers: h.Kind == history.RW,
	} {
		if can {
			all = append(all, what)
		}
	}
	return all
}

// moments looks for moments in the operations of a run.
type moments struct {
	counts  Counts
	lease   int64
	tries   int64             // an acquire that took longer had to wait
	granted map[string]string // by key: the client of the last grant
	reader  string
}

func (m *moments) saw(moment string, did bool) {
	if did {
		m.counts[moment] = 1
	}
}

func (m *moments) add(op *history.Operation) {
	m.saw(unknown, op.Outcome == history.Unknown)
	switch op.Op {
	case history.Acquire:
		m.saw(refusal, op.Outcome == history.Busy)
		if op.Outcome == history.OK {
			m.saw(wait, op.Return-op.Call > m.tries)
			m.grant(op)
		}
	case history.Use:
		m.saw(expiry, m.lease > 0 && op.Return-op.Call > m.lease)
		if op.Mode == history.Shared {
			m.saw(readers, m.reader != "" && m.reader != op.Client)
			m.reader = op.Client
		}
	case history.Release:
		m.saw(refused, op.Outcome == history.NotHeld)
	case history.Extend:
		m.saw(extend, true)
	case history.Lost:
		m.saw(loss, true)
	}
}

func (m *moments) grant(op *history.Operation) {
	if m.counts[handOver] > 0 {
		return
	}
	before := m.granted[op.Key]
	m.saw(handOver, before != "" && before != op.Client)
	m.granted[op.Key] = op.Client
}
