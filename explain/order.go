package explain

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// event is a command, the effect of a fault, or the end of a lease at a node, in the node's order.
type event struct {
	cmd     *history.Command // nil: not a command
	effect  *history.Effect  // nil: not a fault
	at      int64            // when the node executed it, as precisely as is known; not before earlier events
	ran     int64            // the same, from the remaining time in its reply; it may be before earlier events that changed nothing
	op      *history.Operation
	changes []change
	touched []string // keys that cmd named
	clock   clock    // the node's, before the event
	open    bool     // the replayed reply differs from the recorded one
	past    int      // of a restart or promotion: as restored returns it

	judged, idle bool // idle, once judged: its reply proves that it wrote nothing
}

// ended reports whether an event is the end of a lease.
func (e *event) ended() bool { return e.cmd == nil && e.effect == nil }

// corrects reports whether an event sets right what had been assumed of a lease: nothing happened at the node.
func (e *event) corrects() bool {
	return e.ended() && !slices.ContainsFunc(e.changes, func(c change) bool { return c.after == nil })
}

// node is what one node executed, in order.
type node struct {
	index  int
	events []event
	marks  []map[string]*Value // the data before every markEvery-th event
	byOp   map[uint64][]int    // the commands of an operation
	broken bool                // after some point no order explains the replies

	missed   []*history.Command // that did not reach it
	numbered bool               // the record has the order of its commands: a simulated node
}

const markEvery = 64

// known reports whether an order of the node's commands up to an instant was found.
func (n *node) known(at int64) bool { return !n.broken || n.by(at) < len(n.events) }

// by returns the number of events up to and including an instant.
func (n *node) by(at int64) int {
	return sort.Search(len(n.events), func(i int) bool { return n.events[i].at > at })
}

// has reports whether the node has executed a command.
func (n *node) has(c *history.Command) bool {
	return slices.ContainsFunc(n.events, func(e event) bool { return e.cmd == c })
}

// state returns the data of the node before its i-th event.
func (n *node) state(i int) map[string]*Value {
	mark := min(i/markEvery, len(n.marks)-1)
	if mark < 0 {
		return map[string]*Value{}
	}
	values := maps.Clone(n.marks[mark])
	for _, e := range n.events[mark*markEvery : i] {
		for _, c := range e.changes {
			if c.after == nil {
				delete(values, c.key)
			} else {
				values[c.key] = c.after
			}
		}
	}
	return values
}

// after returns the number of events up to and including the last command or deletion with at most the given turn; 0: none.
func (n *node) after(turn uint64) int {
	for i := len(n.events) - 1; i >= 0; i-- {
		switch e := &n.events[i]; {
		case e.cmd != nil && e.cmd.Turn != 0 && e.cmd.Turn <= turn:
			return i + 1
		case e.deletes() && e.effect.Known && e.effect.Turn <= turn:
			return i + 1
		}
	}
	return 0
}

// Bounds on the search for an order.
const (
	backtracks  = 5000 // of one search; then one reply counts as unexplained, and the search continues after it
	regrets     = 512  // the most choices that a search can undo
	unsolved    = 50   // unexplained replies after which the search gives up a node
	effort      = 100  // executions for each command after which it does, but
	leastEffort = 20_000
	grain       = 3_000_000
	long        = 3 * grain // a command pending for longer is also tried at both ends of its time
)

// orderer finds the order in which one node executed its commands.
type orderer struct {
	*node
	m       *machine
	asks    *requests
	ops     map[uint64]*history.Operation
	cmds    []*history.Command
	effects []dated
	kept    []history.Window           // of faults that kept replies from clients, confirmed
	dropped []history.Window           // of faults that took them away for good, confirmed
	held    map[*history.Command]int64 // until when faults kept commands from the node
	flushes []history.Window           // of the node's scripts, confirmed
	nextEff int
	tried   int   // which of the pasts of the next promoted replica is tried
	last    int64 // time of the latest event
}

// simulated executes the commands in the order in which the simulator dispatched them.
func (o *orderer) simulated() {
	slices.SortFunc(o.cmds, func(a, b *history.Command) int { return cmp.Compare(a.Turn, b.Turn) })
	for _, c := range o.cmds {
		for o.nextEff < len(o.effects) && o.effects[o.nextEff].before(c) {
			o.sufferAt(o.effects[o.nextEff].At)
		}
		o.expire(o.m.tick(c.Ran))
		if o.unknownScript(c) {
			o.push(event{cmd: c, at: c.Ran, op: o.ops[c.Op], clock: o.m.clock})
			continue
		}
		if !o.execute(c, c.Ran) {
			o.events[len(o.events)-1].open = true
		}
	}
	o.suffer(math.MaxInt64)
}

// unknownScript reports whether a command without a recorded reply called a script that the node did not have, so that it did nothing. A simulated node
// starts without scripts, and again after a restart.
func (o *orderer) unknownScript(c *history.Command) bool {
	if c.Name != "EVALSHA" || c.Replied != 0 {
		return false
	}
	for i := len(o.events) - 1; i >= 0 && !o.forgot(&o.events[i], c.Ran); i-- {
		if e := &o.events[i]; e.cmd != nil && (e.cmd.Script == c.Script && !e.cmd.Failed() && (e.cmd.Name == "EVAL" || e.cmd.Reply != "") || e.cmd.Name == "SCRIPT") {
			return false
		}
	}
	return true
}

// forgot reports whether the node lost its scripts with an event, or after it and by an instant.
func (o *orderer) forgot(e *event, by int64) bool {
	if e.resets() {
		return true
	}
	return slices.ContainsFunc(o.flushes, func(w history.Window) bool { return e.at < w.Start && w.Start <= by })
}

// suffer adds the effects of faults up to an instant.
func (o *orderer) suffer(by int64) {
	for o.nextEff < len(o.effects) && o.effects[o.nextEff].At <= by {
		o.sufferAt(o.effects[o.nextEff].At)
	}
}

// sufferAt adds the next effect at a given instant.
func (o *orderer) sufferAt(at int64) {
	d := o.effects[o.nextEff]
	e, past := d.Effect, fromKeys
	o.nextEff++
	o.expire(o.m.tick(at))
	if e.What == history.Restarted && !e.Known && len(e.Kept)+len(e.Lost) == 0 {
		e = o.survivors(e, d.from)
	}
	if d.replaces() {
		all := o.pasts(d)
		past, o.tried = all[min(o.tried, len(all)-1)], 0
	}
	did := event{effect: e, at: at, past: past, clock: o.m.clock}
	var data map[string]*Value
	if past = o.restored(&did); past != fromKeys {
		data = o.state(past)
	}
	did.changes = o.m.apply(e, data)
	o.push(did)
}

// survivors returns the effect of a restart of which it is not recorded what it kept: all, if that explains more of the replies that follow than that it
// kept nothing. Those are the replies to commands sent since the fault began that are not executed yet: the restart may have been observed later than it
// happened, and the fault may have begun before the server stopped.
func (o *orderer) survivors(e *history.Effect, from int64) *history.Effect {
	const enough = 4 // commands
	before := o.m.values
	explained := func(values map[string]*Value) (n int) {
		o.m.load(values, o.m.clock)
		tried := 0
		for _, c := range o.cmds {
			if tried == enough {
				break
			}
			if c.Sent < from || c.Replied <= o.last || c.Failed() || o.has(c) {
				continue
			}
			r := o.asks.of(c)
			if r == nil {
				continue
			}
			reply, changes, touched := o.m.do(r, c.Sent)
			if len(touched) > 0 { // the others have the same reply in both cases
				tried++
			}
			if o.m.same(c, answerOf(c, reply)) {
				n++
			} else { // another whose time overlaps this one's may have come first
				o.m.undo(changes)
			}
		}
		return n
	}
	kept := explained(maps.Clone(before)) > explained(map[string]*Value{})
	o.m.load(before, o.m.clock)
	if !kept {
		return e
	}
	known := *e
	known.Kept = slices.Sorted(maps.Keys(before))
	return &known
}

// expire adds the ends of leases as events.
func (o *orderer) expire(ended []change) {
	for _, c := range ended {
		at := o.m.clock.when(c.before.Expires - o.m.epoch)
		o.push(event{at: max(at, o.last), changes: []change{c}, clock: o.m.clock})
	}
}

func (o *orderer) push(e event) {
	if len(o.events)%markEvery == 0 {
		before := maps.Clone(o.m.values)
		for _, c := range e.changes { // values has them already
			if c.before == nil {
				delete(before, c.key)
			} else {
				before[c.key] = c.before
			}
		}
		o.marks = append(o.marks[:len(o.events)/markEvery], before)
	}
	o.last = max(o.last, e.at)
	o.events = append(o.events, e)
}

// execute adds a command and reports whether its reply equals the recorded one.
func (o *orderer) execute(c *history.Command, at int64) bool {
	e := event{cmd: c, at: at, ran: at, op: o.ops[c.Op], clock: o.m.clock}
	r := o.asks.of(c)
	if r == nil {
		e.open = c.Cut
		o.push(e)
		return !e.open
	}
	var reply string
	reply, e.changes, e.touched = o.m.do(r, at)
	reply = answerOf(c, reply)
	if item, left, by := timeLeft(c, reply); by != 0 {
		o.m.undo(e.changes)
		reply = o.fit(&e, r, item, left, by)
	}
	if len(e.changes) == 0 && o.endsNow(c, r, reply, at) {
		reply = c.Reply
	}
	o.loosen(c, at, e.changes)
	if c.Failed() && !resp.IsErrorText(reply) {
		o.m.undo(e.changes) // the server rejected it before running it: unknown script, out of memory, another node's key
		e.changes = nil
		o.push(e)
		return true
	}
	o.push(e)
	return o.m.same(c, reply)
}

// fit executes a command again, as far as its own time allows by the time that an item of its reply was off, and returns the reply: the recorded one if
// what still differs is a time.
func (o *orderer) fit(e *event, r request, item int, left, by int64) (reply string) {
	near := func(by int64) bool { return by != 0 && max(by, -by) <= tolerance*1_000_000 }
	isTime := near(by) && o.replies(e.cmd, r, e.at+o.m.clock.length(by))
	e.ran = e.at + o.shift(e.cmd, e.touched, e.at, left, by)
	o.m.loaded = false // the server's time cannot go back
	reply, e.changes, e.touched = o.m.do(r, e.ran)
	reply, o.m.loaded = answerOf(e.cmd, reply), false
	if _, _, off := timeLeft(e.cmd, reply); exact(e.cmd, reply) || isTime && near(off) {
		reply, o.m.timed[timing(e.cmd, itemsOf(e.cmd.Reply), item)] = e.cmd.Reply, true
	}
	return reply
}

// from returns the earliest likely instant at which the node executed a command. If a fault kept it from the node, that is when it was let go; an
// execution before the fault is tried only if nothing else explains the replies.
func (o *orderer) from(c *history.Command) int64 { return max(c.Sent, o.held[c]) }

// replied returns by when a command had been replied to; 0: that is not known. A recorded reply that its client never saw was there when the fault began
// that took it away.
func (o *orderer) replied(c *history.Command) (by int64) {
	if c.Replied != 0 || c.Reply == "" {
		return c.Replied
	}
	for _, w := range o.dropped {
		if w.Client == c.Client && w.Start >= c.Sent && (by == 0 || w.Start < by) {
			by = w.Start
		}
	}
	return by
}

// seen returns when the reply to a command would have come without the faults that kept it from the client; 0: there was none.
func (o *orderer) seen(c *history.Command) int64 {
	seen := o.replied(c)
	for i := range o.kept {
		w := &o.kept[i]
		if (w.Client == c.Client || w.Client == "") && c.Sent < w.Start && w.Start < seen && seen <= w.Last()+grain {
			seen = w.Start
		}
	}
	return seen
}

// loosen records on values whose expiry a command set by how much that expiry may be off.
func (o *orderer) loosen(c *history.Command, at int64, changes []change) {
	for _, ch := range changes {
		switch {
		case c.Turn != 0 || ch.after == nil || ch.after.Expires == 0:
		case ch.before != nil && ch.before.Expires == ch.after.Expires:
			ch.after.early, ch.after.late = ch.before.early, ch.before.late
		default:
			now := o.m.clock.at(at) // the expiry is in the node's own time
			ch.after.early, ch.after.late = max(now-o.m.clock.at(o.from(c)), 0), max(o.m.clock.at(o.seen(c))-now, 0)
		}
	}
}

// timeLeft compares the first number in which a reply differs from the recorded one, if that may be a remaining time in ms. It returns its place in the
// reply, the time left by the reply, and the difference: how much later the node executed the command, or set the expiry. Both are in nanoseconds of the
// node's own time; 0 means no difference.
func timeLeft(c *history.Command, reply string) (item int, left, by int64) {
	if c.Turn != 0 || c.Reply == "" || exact(c, reply) {
		return 0, 0, 0
	}
	was, is := itemsOf(c.Reply), itemsOf(reply)
	if len(was) != len(is) {
		return 0, 0, 0
	}
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		a, errA := strconv.ParseInt(was[i], 10, 64)
		b, errB := strconv.ParseInt(is[i], 10, 64)
		if errA != nil || errB != nil || a == 0 && b == 1 {
			return 0, 0, 0
		}
		return i, b * 1_000_000, (b - a) * 1_000_000
	}
	return 0, 0, 0
}

// itemsOf returns the items of a reply without brackets and quotes, in which protocols differ.
func itemsOf(reply string) []string {
	items := strings.Split(reply, ", ")
	for i := range items {
		items[i] = strings.Trim(items[i], `[]"`)
	}
	return items
}

// shift returns by how much later or earlier than an instant a command can have been executed, if its reply indicates by. The rest is an error of a key's
// expiry, which it corrects; it returns 0 if that cannot be so far off.
func (o *orderer) shift(c *history.Command, keys []string, at, left, by int64) int64 {
	from, to := max(o.from(c), o.changed()), o.replied(c)
	moved := min(max(o.m.clock.length(by), from-at), to-at)
	ends := checker.Span{From: o.m.ownTime(from) + left - by, To: o.m.ownTime(to) + left - by}
	const rounding = 1000
	if rest := by - (o.m.clock.at(at+moved) - o.m.clock.at(at)); max(rest, -rest) > rounding && !o.shorten(keys, at, left, rest, ends) {
		return 0
	}
	return moved
}

// replies reports whether a request has the recorded reply at another instant: only its times differ, because they were computed from others that were
// not known exactly.
func (o *orderer) replies(c *history.Command, r request, at int64) bool {
	o.m.loaded = false // the server's time cannot go back
	reply, changes, _ := o.m.do(r, at)
	o.m.undo(changes)
	return exact(c, answerOf(c, reply))
}

// changed returns when the node's data last changed.
func (o *orderer) changed() int64 {
	for i := range slices.Backward(o.events) {
		if e := &o.events[i]; len(e.changes) > 0 {
			return cmp.Or(e.ran, e.at)
		}
	}
	return math.MinInt64
}

// shorten moves the expiry of the key that has the given time left at an instant earlier, and reports whether that is possible: when the command that set
// the expiry was executed is uncertain. The expiry lies in the given span.
func (o *orderer) shorten(keys []string, at, left, by int64, ends checker.Span) bool {
	for _, key := range keys {
		v := o.m.values[key]
		if v == nil || v.Expires == 0 {
			continue
		}
		if off := v.Expires - o.m.ownTime(at) - left; max(off, -off) > 1_000_000 { // the expiry of another key
			continue
		}
		end := v.Expires - by
		earliest, latest := v.ends()
		if end < earliest || end > latest {
			continue
		}
		known := *v
		known.Expires, known.early, known.late = end, max(end-max(earliest, ends.From), 0), max(min(latest, ends.To)-end, 0)
		o.m.set(key, &known)
		o.push(event{at: at, changes: []change{{key, v, &known}}, clock: o.m.clock})
		return true
	}
	return false
}

// endsNow reports whether a command was executed in the millisecond in which a key expires. Redis keeps the key until the end of that millisecond and
// replies that 0 ms are left; the embedded server deletes it at its beginning, and replies 1 before. An execution a millisecond earlier, with one more
// left, proves that 0 and 1 are times.
func (o *orderer) endsNow(c *history.Command, r request, reply string, at int64) bool {
	i := 0
	for i < min(len(reply), len(c.Reply)) && reply[i] == c.Reply[i] {
		i++
	}
	if c.Turn != 0 || !strings.HasPrefix(c.Reply[i:], "0") || !strings.HasPrefix(reply[i:], "1") || reply[i+1:] != c.Reply[i+1:] {
		return false
	}
	o.m.loaded = false // the server's time cannot go back
	earlier, changes, _ := o.m.do(r, at-1_000_000)
	o.m.undo(changes)
	o.m.loaded = false
	return answerOf(c, earlier) == reply[:i]+"2"+reply[i+1:]
}

// tolerance is the uncertainty, in ms, of the instant at which a command was executed.
const tolerance = 10

// exact reports whether a reply equals the recorded one, apart from quotes, in which protocols differ.
func exact(c *history.Command, reply string) bool {
	was, is := strings.ReplaceAll(c.Reply, `"`, ""), strings.ReplaceAll(reply, `"`, "")
	return was == is || was == "" || strings.HasSuffix(was, " items]") || resp.IsErrorText(was) && resp.IsErrorText(is)
}

// same reports whether a reply equals the recorded one, or differs from it only in remaining times close to those: they depend on when the node executed
// the command, which only the simulator knows to the millisecond. A reply of the form has shown that these items are times.
func (m *machine) same(c *history.Command, reply string) bool {
	if exact(c, reply) {
		return true
	}
	was, is := itemsOf(c.Reply), itemsOf(reply)
	if len(was) != len(is) {
		return false
	}
	for i := range was {
		if was[i] != is[i] && !(m.timed[timing(c, was, i)] && m.timed[timing(c, is, i)] && sameTime(was[i], is[i])) {
			return false
		}
	}
	return true
}

// form is a place in the replies of one form: those with the same flags beside that item. Where a refusal has the time left, a grant may have a fence.
type form struct {
	position
	flags string
}

// timing returns the form of a reply of which an item may be a time. Flags are too small to be one.
func timing(c *history.Command, items []string, at int) form {
	f := form{position: position{shapeOf(c), at, len(items)}}
	for i, item := range items {
		if n, err := strconv.ParseInt(item, 10, 64); i != at && err == nil && max(n, -n) <= tolerance {
			f.flags += fmt.Sprint(i, "=", n, " ")
		}
	}
	return f
}

// sameTime reports whether two numbers are remaining times, in ms, that differ by no more than the tolerance.
func sameTime(was, is string) bool {
	a, errA := strconv.ParseInt(was, 10, 64)
	b, errB := strconv.ParseInt(is, 10, 64)
	return errA == nil && errB == nil && max(a-b, b-a) <= tolerance && a > tolerance && b > tolerance
}
