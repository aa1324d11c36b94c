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
	c := Reach{reachedHandOver: 0, reachedRefused: 0}
	c.Could(p.Faults...)
	for what, can := range map[string]bool{
		reachedWait: p.Waits, reachedRefusal: !p.Waits, reachedUnknown: len(p.Faults) > 0, reachedExpiry: r.Header.Lease > 0,
		reachedExtend: p.Extends || r.Header.Renews, reachedLoss: p.TellsLosses, reachedReaders: r.Header.Kind == RW,
	} {
		if can {
			c.Could(what)
		}
	}
	saw := func(moment string, did bool) {
		if did {
			c[moment] = 1
		}
	}
	for _, w := range faults {
		saw(w.Fault, w.Confirmed)
	}
	holders, reader := map[string]string{}, "" // the clients of the last grant of each key, and of the last shared use
	for i := range r.Ops {
		op := &r.Ops[i]
		took := op.Return - op.Call
		saw(reachedUnknown, op.Outcome == Unknown)
		switch op.Op {
		case Acquire:
			saw(reachedRefusal, op.Outcome == Busy)
			if op.Outcome == OK {
				saw(reachedWait, took > p.Poll/2)
				before := holders[op.Key]
				saw(reachedHandOver, before != "" && before != op.Client)
				holders[op.Key] = op.Client
			}
		case Use:
			saw(reachedExpiry, r.Header.Lease > 0 && took > r.Header.Lease)
			if op.Mode == Shared {
				saw(reachedReaders, reader != "" && reader != op.Client)
				reader = op.Client
			}
		case Release:
			saw(reachedRefused, op.Outcome == NotHeld)
		case Extend:
			saw(reachedExtend, true)
		case Lost:
			saw(reachedLoss, true)
		}
	}
	if Linked(r.Commands) { // then one without an operation is of the background, as of a watchdog
		saw(reachedExtend, slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Op == 0 && c.Node >= 0 }))
	}
	return c
}
