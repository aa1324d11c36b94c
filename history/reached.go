package history

import "slices"

// Moments of a run, beside its faults.
const (
	reachedWait     = "a wait"
	reachedRefusal  = "a refused acquire"
	reachedHandOver = "a hand-over to another client"
	reachedExpiry   = "a hold beyond its lease"
	reachedRefused  = "a refused release"
	reachedUnknown  = "a call without an answer"
	reachedExtend   = "an extend or a renewal"
	reachedLoss     = "a notice of a loss"
	reachedReaders  = "readers at once"
)

// Prospect is what a run has in store for a lock, beside what the header of its record says.
type Prospect struct {
	Faults      []string
	Waits       bool  // clients wait for the lock, rather than ask once
	Poll        int64 // nanoseconds between two tries of a waiter
	Extends     bool
	TellsLosses bool
}

// Reached returns what a run reached of its faults and moments: each of them once, however often.
func Reached(r Recorded, faults []Window, p Prospect) Reach {
	c := Reach{}
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
	if Linked(r.Commands) { // then one without an operation is of the background, as of a watchdog
		m.saw(reachedExtend, slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Op == 0 && c.Node >= 0 }))
	}
	return c
}

// could returns what a run can reach.
func (p Prospect) could(h Header) []string {
	all := append([]string{reachedHandOver, reachedRefused}, p.Faults...)
	for what, can := range map[string]bool{
		reachedWait: p.Waits, reachedRefusal: !p.Waits, reachedUnknown: len(p.Faults) > 0, reachedExpiry: h.Lease > 0,
		reachedExtend: p.Extends || h.Renews, reachedLoss: p.TellsLosses, reachedReaders: h.Kind == RW,
	} {
		if can {
			all = append(all, what)
		}
	}
	return all
}

// moments looks for moments in the operations of a run.
type moments struct {
	counts  Reach
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

func (m *moments) add(op *Operation) {
	m.saw(reachedUnknown, op.Outcome == Unknown)
	switch op.Op {
	case Acquire:
		m.saw(reachedRefusal, op.Outcome == Busy)
		if op.Outcome == OK {
			m.saw(reachedWait, op.Return-op.Call > m.tries)
			m.grant(op)
		}
	case Use:
		m.saw(reachedExpiry, m.lease > 0 && op.Return-op.Call > m.lease)
		if op.Mode == Shared {
			m.saw(reachedReaders, m.reader != "" && m.reader != op.Client)
			m.reader = op.Client
		}
	case Release:
		m.saw(reachedRefused, op.Outcome == NotHeld)
	case Extend:
		m.saw(reachedExtend, true)
	case Lost:
		m.saw(reachedLoss, true)
	}
}

func (m *moments) grant(op *Operation) {
	if m.counts[reachedHandOver] > 0 {
		return
	}
	before := m.granted[op.Key]
	m.saw(reachedHandOver, before != "" && before != op.Client)
	m.granted[op.Key] = op.Client
}
