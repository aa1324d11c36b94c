package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// evidence is what is known of a run besides its operations: the commands that its clients sent,
// and the windows in which faults were active. Excuses rest on it. It is read-only once made, so
// that keys can be judged concurrently.
type evidence struct {
	header   history.Header
	commands map[string][]history.Command // to the lock's nodes, by client, each by time sent
	renewals map[string][]history.Command // those that may renew a hold and belong to no operation
	nodes    map[string]map[int]bool      // by client: to which its commands went
	all      []history.Window             // by start
	faults   []history.Window             // those of them that are confirmed
	last     []int64                      // the latest end of faults[:i+1]
	crashes  map[string][]int64           // by client: the instants of its confirmed crashes, ascending
	effects  []history.Executed
}

// newEvidence sorts commands and faults for look-up. It keeps no reference to the slices but that
// of the effects.
func newEvidence(in Input) *evidence {
	ev := &evidence{header: in.Header, commands: map[string][]history.Command{}, renewals: map[string][]history.Command{},
		nodes: map[string]map[int]bool{}, crashes: map[string][]int64{}, effects: in.Effects}
	linked := history.Linked(in.Commands)
	for _, c := range in.Commands {
		if c.Node < 0 {
			continue
		}
		ev.commands[c.Client] = append(ev.commands[c.Client], c)
		if linked && c.Op == 0 && c.MayRenew() {
			ev.renewals[c.Client] = append(ev.renewals[c.Client], c)
		}
		if ev.nodes[c.Client] == nil {
			ev.nodes[c.Client] = map[int]bool{}
		}
		ev.nodes[c.Client][c.Node] = true
	}
	for _, lists := range []map[string][]history.Command{ev.commands, ev.renewals} {
		for _, list := range lists {
			slices.SortStableFunc(list, func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
		}
	}
	ev.all = slices.Clone(in.Faults)
	slices.SortStableFunc(ev.all, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	ev.faults = slices.DeleteFunc(slices.Clone(ev.all), func(w history.Window) bool { return !w.Confirmed })
	end := int64(math.MinInt64)
	for i := range ev.faults {
		w := &ev.faults[i]
		end = max(end, w.Last())
		ev.last = append(ev.last, end)
		if w.Client != "" && w.Does.Any(history.Kills) {
			ev.crashes[w.Client] = append(ev.crashes[w.Client], w.Start)
		}
	}
	return ev
}

// commandsOf returns the commands that client sent in [from, to], by time sent.
func (e *evidence) commandsOf(client string, from, to int64) []history.Command {
	list := e.commands[client]
	list = list[sort.Search(len(list), func(i int) bool { return list[i].Sent >= from }):]
	return list[:sort.Search(len(list), func(i int) bool { return list[i].Sent > to })]
}

// renewedInBackground returns the last instant by which a client's watchdog may have renewed a hold
// that was last renewed at from, by commands sent before another instant. Such a command names a
// key that the acquire named, and was sent while the server could still have the hold.
func (e *evidence) renewedInBackground(client string, began *op, from, before int64) int64 {
	list := e.renewals[client]
	if len(list) == 0 {
		return from
	}
	var keys []string
	for _, c := range e.commandsOf(client, began.call, began.ret) {
		keys = append(keys, c.Keys()...)
	}
	at := sort.Search(len(list), func(i int) bool { return list[i].Sent >= began.ret })
	for _, c := range list[at:] {
		if c.Sent > before || c.Sent > kept(e.header, from) {
			break
		}
		if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Keys(), key) }) {
			from = max(from, c.Sent, c.Replied, c.Ran)
		}
	}
	return from
}

// Excuses reports whether a fault may excuse what meets it: it is confirmed, and more than a delay
// of messages, which arrive all the same, or of the work inside a critical section.
func Excuses(w *history.Window) bool {
	return w.Confirmed && !w.Does.Any(history.Delays|history.SlowsWork)
}

// meets reports whether a window meets [from, to], by clocks that may differ by their error.
func (e *evidence) meets(w *history.Window, from, to int64) bool {
	return w.Start <= plus(to, e.header.ClockError) && w.Last() >= from-e.header.ClockError
}

// concerns reports whether a fault hit a client, or a node to which its commands went. A fault
// without a node hit all of them. Every node counts as used where no commands were recorded, and
// where grants need a replica.
func (e *evidence) concerns(w *history.Window, client string) bool {
	if w.Client != "" {
		return w.Client == client
	}
	return w.Node < 0 || len(e.commands) == 0 || e.nodes[client][w.Node] || e.header.NeedsReplica
}

// excusing returns the faults that may excuse what a client met in [from, to], by start.
func (e *evidence) excusing(client string, from, to int64) (out []history.Window) {
	if len(e.faults) == 0 {
		return nil
	}
	for i := range e.faults {
		if w := &e.faults[i]; Excuses(w) && e.meets(w, from, to) && e.concerns(w, client) {
			out = append(out, *w)
		}
	}
	return out
}

// excused reports whether a fault may excuse what a client met in [from, to].
func (e *evidence) excused(client string, from, to int64) bool {
	return len(e.excusing(client, from, to)) > 0
}

// clockOff reports whether a fault has set a clock of a node that a client uses, and not set it
// right by an instant.
func (e *evidence) clockOff(client string, at int64) bool {
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		off := int64(0)
		for i := range w.Effects {
			if c := &w.Effects[i]; c.What == history.ClockSet && c.At <= at {
				off += c.By
			}
		}
		return off != 0 && w.Confirmed && e.concerns(&w, client)
	})
}

// excusedAnswer reports whether a fault may excuse a wrong answer that a client got in [from, to]:
// one of a node; one of the client only if votes count, as lost messages leave nodes that disagree.
func (e *evidence) excusedAnswer(client string, from, to int64) bool {
	return slices.ContainsFunc(e.excusing(client, from, to), func(w history.Window) bool { return w.Client == "" || e.header.Votes })
}

// loses returns when a fault first may have taken what a client held from an instant on, or moved
// the end of its lease.
func (e *evidence) loses(client string, from int64) int64 {
	for i := range e.faults {
		w := &e.faults[i]
		losing := w.Client == "" && w.Does.Any(history.LosesData|history.MovesClock) && w.Replica != history.HadKey
		if losing && e.meets(w, from, never) && e.concerns(w, client) {
			return max(w.Start-e.header.ClockError, from)
		}
	}
	return never
}
