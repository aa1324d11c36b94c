package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// The faults whose windows change what can be expected of a lock. The words are those of the package faults, which this one must not import.
const (
	faultKillServer  = "kill-server"
	faultFailover    = "failover"
	faultCrashClient = "crash-client"
	faultPauseClient = "pause-client"
	faultBlackhole   = "blackhole-client"
	faultPartition   = "partition-nodes"
	faultStop        = "pause-server"
	faultJumpClock   = "jump-clock"
	faultDriftClock  = "drift-clock"
	faultDeleteKey   = "delete-key"
	faultEvictKeys   = "evict-keys"

	faultDelayRequest = "delay-request"
	faultDelayReply   = "delay-reply"
)

// metFault reports whether any confirmed fault meets [from, to].
func (e *evidence) metFault(from, to int64) bool {
	if len(e.faults) == 0 {
		return false
	}
	// Windows are by start; the latest end of those that start by t is what counts.
	n, _ := slices.BinarySearchFunc(e.faults, to, func(w history.Window, t int64) int {
		if w.Start <= t {
			return -1
		}
		return cmp.Compare(w.Start, t)
	})
	return n > 0 && e.faultsEnd[n-1] >= from
}

// excused reports whether a confirmed fault of a client, or of a node that its commands went to, meets [from, to]. A fault elsewhere excuses nothing.
func (e *evidence) excused(client string, from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return e.concerns(w, client, from, to) })
}

// serverFault reports whether a confirmed fault of a node that a client's commands went to meets [from, to].
func (e *evidence) serverFault(client string, from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return w.Client == "" && e.concerns(w, client, from, to) })
}

// meets reports whether a confirmed fault of which is holds meets [from, to].
func (e *evidence) meets(from, to int64, is func(*history.Window) bool) bool {
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		return w.Confirmed && w.Start <= to && w.Last() >= from && is(&w)
	})
}

// concerns reports whether a fault was done to a client, or to a node that it sent commands to in [from, to]. Without a node it was done to all of them, and where no
// commands are recorded a node is taken to have been asked.
func (e *evidence) concerns(w *history.Window, client string, from, to int64) bool {
	if w.Client != "" {
		return w.Client == client
	}
	return w.Node < 0 || len(e.commands) == 0 || slices.ContainsFunc(e.commandsOf(client, from, to), func(c history.Command) bool { return c.Node == w.Node })
}

// serverStruck reports whether a confirmed fault of a server meets [from, to].
func (e *evidence) serverStruck(from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return w.Client == "" })
}

// struck reports whether a confirmed fault of a server, or of a client that takes part, meets [from, to].
func (e *evidence) struck(from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return w.Client == "" || e.takesPart == nil || e.takesPart[w.Client] })
}

// unavailable returns the latest instant, up to t, until which a client could not be served for a reason that is not the lock's: the
// node was down or out of reach, the client waited for the one message that was held up, or the client itself was stopped or dead.
func (e *evidence) unavailable(client string, t int64) (last int64, ok bool) {
	last = math.MinInt64
	for i, w := range e.faults {
		if w.Start > t {
			break
		}
		if !w.Confirmed {
			continue
		}
		switch w.Fault {
		case faultKillServer, faultStop, faultFailover, faultPartition:
		case faultPauseClient, faultBlackhole, faultDelayRequest, faultDelayReply, faultCrashClient: // what a library reports of a dead client's wait is nobody's wait
			if w.Client != client {
				continue
			}
		default:
			continue
		}
		last, ok = max(last, min(e.unserved[i], t)), true
	}
	return last, ok
}

// unservedUntil is until when a client heard nothing for a fault's sake: a message that is held up is waited for, and holds up what comes behind it
// on its connection, until the client hears of another. A client whose commands are not recorded is not known to have waited.
func (e *evidence) unservedUntil(w *history.Window) int64 {
	if w.Fault != faultDelayRequest && w.Fault != faultDelayReply {
		return w.Last()
	}
	until, held := w.Start, e.heldUp(w)
	if len(e.commands[w.Client]) > 0 {
		until = w.Last()
	}
	for _, c := range e.commands[w.Client] {
		if c.Node >= 0 && c.Replied > w.Start && c.Sent >= held {
			until = min(until, c.Replied)
		}
	}
	return until
}

// heldUp is when the message was sent that a fault held up: the first that its client had under way then and heard nothing of before the end of the
// fault. What was sent before it may still be answered, which shows nothing.
func (e *evidence) heldUp(w *history.Window) int64 {
	for _, c := range e.commands[w.Client] {
		if c.Node >= 0 && c.Sent <= w.Start && (c.Replied == 0 || c.Replied >= w.Last()) {
			return c.Sent
		}
	}
	return w.Start
}

// upset is what a fault may have done to what a server keeps, once, at an instant of [from, to] (VERDICTS §2): a restart without data, a promoted replica without the key, an
// eviction or an operator's deletion empties the state; a jump of the clock moves the ends of leases.
//
// What the record leaves open may have been or not: whether the data was there after a restart, and whose key was deleted. That a node came back with
// older data, and so with a hold that had been released, is not among what the page lists.
type upset struct {
	from, to      int64
	sooner, later int64 // the ends move; both 0: the state is emptied
}

// on returns a state after the fault.
func (u *upset) on(s state) state {
	if u.sooner == 0 && u.later == 0 {
		s.holds = nil
		return s
	}
	s.holds = slices.Clone(s.holds)
	for n := range s.holds {
		h := &s.holds[n]
		h.sooner, h.later = plus(h.sooner, u.sooner), plus(h.later, u.later)
	}
	return s
}

// upsetsOf returns what a fault may have done.
func upsetsOf(w *history.Window) []upset {
	all := []upset{{from: w.Start, to: w.Last()}}
	switch {
	case !w.Confirmed || w.Client != "":
		return nil
	case w.Fault == faultFailover && w.Replica == history.HadKey:
		return nil
	case w.Fault == faultKillServer, w.Fault == faultFailover, w.Fault == faultDeleteKey, w.Fault == faultEvictKeys:
		return all
	case w.Fault != faultJumpClock:
		return nil
	}
	var jumps []upset
	for _, e := range w.Effects {
		if e.What == history.ClockSet && e.By != 0 {
			jumps = append(jumps, upset{from: w.Start, to: max(e.At, w.Start), sooner: max(e.By, 0), later: max(-e.By, 0)})
		}
	}
	if len(jumps) > 0 {
		return jumps
	}
	all[0].sooner, all[0].later = never/4, never/4 // by how much it jumped isn't known
	return append(all, all...)
}

// clocksMove reports whether a confirmed fault may have made leases longer than they were given for.
func (e *evidence) clocksMove() bool {
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		return w.Confirmed && w.Client == "" && (w.Fault == faultJumpClock || w.Fault == faultDriftClock)
	})
}
