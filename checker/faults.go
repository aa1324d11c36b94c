package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// The faults whose windows change what can be expected of a lock. The words are those of the fault vocabulary.
const (
	faultBlackhole = "blackhole-client"
	faultPartition = "partition-nodes"
	faultStop      = "pause-server"
)

// metFault tells whether any fault window meets [from, to].
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

// unavailable gives the latest instant, up to t, until which a client could not be served for a reason that is not the lock's: the
// node was down or out of reach, or the client itself was stopped or dead.
func (e *evidence) unavailable(client string, t int64) (last int64, ok bool) {
	last = math.MinInt64
	for _, w := range e.faults {
		if w.Start > t {
			break
		}
		switch w.Fault {
		case faultKillServer, faultStop, faultFailover, faultPartition:
		case faultPauseClient, faultBlackhole, faultCrashClient: // what a library reports of a dead client's wait is nobody's wait
			if w.Client != client {
				continue
			}
		default:
			continue
		}
		last, ok = max(last, min(w.Last(), t)), true
	}
	return last, ok
}
