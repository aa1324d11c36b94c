package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// The faults whose windows change what can be expected of a lock. The names are those of package faults, which this one must not import.
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
	faultSlowNetwork = "slow-network"

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

// excused reports whether a confirmed fault of a client, or of a node that it sent commands to, meets [from, to]. A fault elsewhere excuses nothing.
func (e *evidence) excused(client string, from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return e.concerns(w, client, from, to) })
}

// Excuses reports whether a fault may excuse what meets it: whether it is confirmed, and no slow network. Messages of that arrive, and every lock must bear
// that they are late.
func Excuses(w *history.Window) bool { return w.Confirmed && w.Fault != faultSlowNetwork }

// meets reports whether a fault that may excuse, and for which is returns true, meets [from, to], by clocks that may differ by their error.
func (e *evidence) meets(from, to int64, is func(*history.Window) bool) bool {
	from, to = from-e.header.ClockError, plus(to, e.header.ClockError)
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		return Excuses(&w) && w.Start <= to && w.Last() >= from && is(&w)
	})
}

// concerns reports whether a fault hit a client, or a node to which the client sent commands in [from, to]. A fault without a node hit all nodes;
// without recorded commands every node counts as used.
func (e *evidence) concerns(w *history.Window, client string, from, to int64) bool {
	if w.Client != "" {
		return w.Client == client
	}
	return w.Node < 0 || len(e.commands) == 0 || slices.ContainsFunc(e.commandsOf(client, from, to), func(c history.Command) bool { return c.Node == w.Node })
}

// anyServerFault reports whether a confirmed fault of a server meets [from, to].
func (e *evidence) anyServerFault(from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return w.Client == "" })
}

// anyFault reports whether a confirmed fault of a server, or of a client with operations, meets [from, to].
func (e *evidence) anyFault(from, to int64) bool {
	return e.meets(from, to, func(w *history.Window) bool { return w.Client == "" || e.takesPart == nil || e.takesPart[w.Client] })
}

// unavailable returns the latest instant, up to t, until which a client could not be served for a reason outside the lock: the node was down or
// unreachable, the client waited for a delayed message, or the client itself was stopped or dead.
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
		case faultPauseClient, faultBlackhole, faultDelayRequest, faultDelayReply, faultCrashClient: // a wait that a library reports for a dead client does not count
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

// unservedUntil returns until when a client received nothing because of a fault: a delayed message delays those behind it on its connection, until
// the client receives another. A client without recorded commands is not known to have waited. A lock that needs a replica's confirmation has none after
// a failover.
func (e *evidence) unservedUntil(w *history.Window) int64 {
	if w.Fault == faultFailover && e.header.NeedsReplica {
		return never
	}
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

// heldUp returns when the delayed message was sent: the client's first message under way then without a reply before the end of the fault. Messages
// sent earlier may still be answered, which shows nothing.
func (e *evidence) heldUp(w *history.Window) int64 {
	for _, c := range e.commands[w.Client] {
		if holdsUp(w, &c) {
			return c.Sent
		}
	}
	return w.Start
}

// interrupted returns the time in which a request of a client, sent in [from, to], was under way or its reply was, because of a fault of that client:
// the server may have granted it long before the client learnt of it. ok is false if there is none. A dead client learns nothing (see crashes).
func (e *evidence) interrupted(client string, from, to int64) (s Span, ok bool) {
	s = Span{From: never, To: math.MinInt64}
	for _, w := range e.byClient[client] {
		if w.Start > to || w.Last() < from || w.Fault == faultCrashClient {
			continue
		}
		for _, c := range e.commandsOf(client, from, w.Start) {
			if holdsUp(w, &c) {
				s, ok = Span{From: min(s.From, c.Sent), To: max(s.To, w.Last())}, true
			}
		}
	}
	return s, ok
}

// holdsUp reports whether a command of a fault's client was under way when the fault began and had no reply before its end.
func holdsUp(w *history.Window, c *history.Command) bool {
	return c.Node >= 0 && c.Sent <= w.Start && (c.Replied == 0 || c.Replied >= w.Last())
}

// upset is what a fault may have done to a server's state, once, at an instant of [from, to]: a restart without data, the promotion of
// a replica without the key, an eviction or an operator's deletion empties the state; a jump of the clock moves the ends of leases.
//
// What the record leaves open may or may not have happened: whether the data survived a restart, and whose key was deleted. Left out is
// that a node comes back with older data, and so with a hold that had been released.
type upset struct {
	from, to      int64
	sooner, later int64 // by how much the ends move; both 0: the state is emptied
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
	all[0].sooner, all[0].later = never/4, never/4 // the size of the jump is unknown
	return append(all, all...)
}

// upsetsServer reports whether a fault may have changed a server's data or clock.
func upsetsServer(w *history.Window) bool { return len(upsetsOf(w)) > 0 || movesClock(w) }

// delayed returns the last instant at which a lease can have ended that began at one instant and would have ended at another, given the faults that set a
// server's clock back meanwhile, or made it slow. Leases end for certain when they have been kept for keep by a clock that is right.
func (e *evidence) delayed(from, end, keep int64) int64 {
	for i := range e.faults {
		w := &e.faults[i]
		switch slow := w.Client == "" && w.Fault == faultDriftClock; {
		case !w.Confirmed || end == never || w.Start > end || w.Last() < from:
		case slow:
			end = plus(max(end, w.Last()), keep)
		default:
			for _, u := range upsetsOf(w) {
				end = plus(end, u.later)
			}
		}
	}
	return end
}

// drifts reports whether a lease that began in [from, to], and is kept for keep by a clock that is right, may run while a server's clock runs at another
// rate: when it ends is not known.
func (e *evidence) drifts(from, to, keep int64) bool {
	end := plus(to, keep)
	if e.meets(from, end, movesClock) { // set back, it may let the lease run for long
		end = never
	}
	return e.meets(from, end, func(w *history.Window) bool { return w.Client == "" && w.Fault == faultDriftClock })
}

// clocksMove reports whether a confirmed fault may have made leases longer than granted.
func (e *evidence) clocksMove() bool {
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		return w.Confirmed && movesClock(&w)
	})
}

// movesClock reports whether a fault may have made leases longer than granted, also after it ended.
func movesClock(w *history.Window) bool {
	return w.Client == "" && (w.Fault == faultJumpClock || w.Fault == faultDriftClock)
}
