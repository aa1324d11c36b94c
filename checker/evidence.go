package checker

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// evidence is what is known of a run around any violation: its operations, the commands its clients sent, and the windows
// in which faults were active. Causes and stories are made from it. It is read-only once made, so that keys can be
// judged side by side.
type evidence struct {
	header   history.Header
	index    operationIndex
	commands map[string][]history.Command // by client, each by time sent
	faults   []history.Window             // by start

	takesPart map[string]bool // clients that did something; nil: not known
	faultsEnd []int64         // the latest end of faults[:i+1]
	unserved  []int64         // until when faults[i] kept its client from being served
}

// operationIndex finds operations by key and time.
type operationIndex interface {
	// between returns the operations on key whose [Call, Return] meets [from, to], by call. When they are very many it gives those
	// around the middle.
	between(key string, from, to int64) []history.Operation
	// granted reports whether anybody was ever granted key in a mode.
	granted(key string, mode history.Mode) bool
}

// newEvidence arranges commands and faults for look-up. It keeps no reference to the slices.
func newEvidence(in Input, index operationIndex) *evidence {
	ev := &evidence{header: in.Header, index: index, commands: map[string][]history.Command{}}
	for client, n := range count(in.Commands) {
		ev.commands[client] = make([]history.Command, 0, n)
	}
	for _, c := range in.Commands {
		ev.commands[c.Client] = append(ev.commands[c.Client], c)
	}
	bySent := func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) }
	for _, list := range ev.commands {
		if !slices.IsSortedFunc(list, bySent) {
			slices.SortStableFunc(list, bySent)
		}
	}
	ev.faults = slices.Clone(in.Faults)
	slices.SortStableFunc(ev.faults, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	last := int64(math.MinInt64)
	for i := range ev.faults {
		if ev.faults[i].Confirmed {
			last = max(last, ev.faults[i].Last())
		}
		ev.faultsEnd = append(ev.faultsEnd, last)
		ev.unserved = append(ev.unserved, ev.unservedUntil(&ev.faults[i]))
	}
	return ev
}

// count tells how many commands each client sent.
func count(commands []history.Command) map[string]int {
	n := map[string]int{}
	for i := range commands {
		n[commands[i].Client]++
	}
	return n
}

// operations returns the operations on key whose interval meets [from, to], by call.
func (e *evidence) operations(key string, from, to int64) []history.Operation {
	return e.index.between(key, from, to)
}

// commandsOf returns the commands that client sent in [from, to], by time sent.
func (e *evidence) commandsOf(client string, from, to int64) []history.Command {
	list := e.commands[client]
	lo, _ := slices.BinarySearchFunc(list, from, func(c history.Command, t int64) int { return cmp.Compare(c.Sent, t) })
	hi := lo
	for hi < len(list) && list[hi].Sent <= to {
		hi++
	}
	return list[lo:hi]
}

// commandsOn returns the commands of all clients that were sent in [from, to] and name key, by time sent. A lock may prefix or
// suffix its keys, so a command names key when an argument contains it.
func (e *evidence) commandsOn(key string, from, to int64) []history.Command {
	var out []history.Command
	for client := range e.commands {
		for _, c := range e.commandsOf(client, from, to) {
			if names(c, key) {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b history.Command) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Conn, b.Conn))
	})
	return out
}

// everGranted reports whether any acquire of key in a mode was granted in the whole run.
func (e *evidence) everGranted(key string, mode history.Mode) bool { return e.index.granted(key, mode) }

// names reports whether an argument of the command contains key.
func names(c history.Command, key string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, key) })
}

// until is the instant up to which a granted acquire or extend protects its holder: what the lock said, or else call + lease -
// drift; math.MaxInt64 for never.
func until(h history.Header, op *history.Operation) int64 {
	switch {
	case op.ValidUntil != 0:
		return op.ValidUntil
	case h.Lease == 0:
		return math.MaxInt64
	}
	return plus(op.Call, h.Lease-h.Drift)
}

// plus adds without overflow; math.MaxInt64 stands for never.
func plus(t, d int64) int64 {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}

// sliceIndex is an operationIndex over a plain slice, for small histories.
type sliceIndex []history.Operation

func (s sliceIndex) granted(key string, mode history.Mode) bool {
	return slices.ContainsFunc(s, func(op history.Operation) bool {
		return op.Key == key && op.Op == history.Acquire && op.Outcome == history.OK && op.Mode == mode
	})
}

func (s sliceIndex) between(key string, from, to int64) []history.Operation {
	var out []history.Operation
	for _, op := range s {
		if op.Key == key && op.Call <= to && op.Return >= from {
			out = append(out, op)
		}
	}
	slices.SortStableFunc(out, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return out
}
