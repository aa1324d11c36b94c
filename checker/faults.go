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
