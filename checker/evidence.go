package checker

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// evidence is what is known of a run besides its operations: the commands that its clients sent, and the windows in which faults were active. Excuses
// rest on it. It is read-only once made, so that keys can be judged concurrently.
type evidence struct {
	header   history.Header
	commands map[string][]history.Command // to the lock's nodes, by client, each by time sent
	faults   []history.Window             // by start

	takesPart map[string]bool              // clients with an operation; nil: unknown
	faultsEnd []int64                      // the latest end of faults[:i+1]
	byClient  map[string][]*history.Window // confirmed faults by the client that they hit
	unserved  []int64                      // until when faults[i] kept its client from being served
}

// newEvidence sorts the commands, and the faults that can matter to the operations of an archive, for look-up: not one of a node that no command went to,
// nor one that began when all was over, nor a clock that was right again before the first call. It keeps no reference to the slices.
func newEvidence(in Input, a *archive) *evidence {
	ev := &evidence{header: in.Header, commands: map[string][]history.Command{}}
	for client, n := range count(in.Commands) {
		ev.commands[client] = make([]history.Command, 0, n)
	}
	nodes := map[int]bool{} // to which commands went
	for _, c := range in.Commands {
		if c.Node >= 0 {
			ev.commands[c.Client] = append(ev.commands[c.Client], c)
			nodes[c.Node] = true
		}
	}
	bySent := func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) }
	for _, list := range ev.commands {
		if !slices.IsSortedFunc(list, bySent) {
			slices.SortStableFunc(list, bySent)
		}
	}
	first, last := a.span()
	ev.faults = slices.DeleteFunc(slices.Clone(in.Faults), func(w history.Window) bool {
		unused := w.Client == "" && w.Node >= 0 && len(nodes) > 0 && !nodes[w.Node] && !in.Header.NeedsReplica
		return unused || w.Start > plus(last, in.Header.ClockError) || movesClock(&w) && plus(w.Last(), in.Header.ClockError) < first
	})
	slices.SortStableFunc(ev.faults, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	end := int64(math.MinInt64)
	ev.byClient = map[string][]*history.Window{}
	for i := range ev.faults {
		w := &ev.faults[i]
		if w.Confirmed {
			end = max(end, w.Last())
		}
		if w.Confirmed && w.Client != "" {
			ev.byClient[w.Client] = append(ev.byClient[w.Client], w)
		}
		ev.faultsEnd = append(ev.faultsEnd, end)
		ev.unserved = append(ev.unserved, ev.unservedUntil(w))
	}
	return ev
}

// count returns how many commands each client sent to the lock's nodes.
func count(commands []history.Command) map[string]int {
	n := map[string]int{}
	for i := range commands {
		if commands[i].Node >= 0 {
			n[commands[i].Client]++
		}
	}
	return n
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

// names reports whether an argument of the command contains key.
func names(c history.Command, key string) bool {
	return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, key) })
}

// share reports whether two lists have a key in common.
func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

// never stands for an end that does not come.
const never int64 = math.MaxInt64

// plus adds without overflow.
func plus(t, d int64) int64 {
	if d > 0 && t > math.MaxInt64-d {
		return math.MaxInt64
	}
	return t + d
}
