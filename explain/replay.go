package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// without is what an experiment on one node leaves out.
type without struct {
	events []int    // by index
	ops    []uint64 // operations all of whose commands are left out
	stop   int64    // when the clock stops, at the time that it showed, so that no lease ends; 0: never
	still  *event   // a grant since which hardly any time has passed by the clock of the attempt's client, as that of the grant's client showed it; nil: unchanged
	all    bool     // the same by the clocks of all clients
	right  []string // clients whose clocks, which a fault had set wrong, are right
}

// onlyEvents reports whether an experiment leaves out events and changes no clock.
func (w without) onlyEvents() bool {
	return len(w.ops) == 0 && w.stop == 0 && w.still == nil && len(w.right) == 0
}

// replay executes a node's history without some events, up to an attempt that it repeats.
type replay struct {
	*run
	node  *node
	from  int // the first event
	left  without
	out   map[string]uint64 // clients refused in the replay, with the acquire
	found map[uint64]asked  // acquires that found something, or nothing, where in the record they had not, by what they asked, until they ask again
	saved map[int]map[string]*Value

	settles bool              // the replay may end when the rest would be as recorded
	did     []change          // what the latest event changed in the replay
	moot    map[int]bool      // commands that their clients would not have sent, or not so, after what they were replied in the replay
	other   map[string]*Value // the recorded values of keys that have others in the replay

	waiter *history.Operation // the acquire to watch; nil: none
	early  *event             // the first request of the waiter that was granted in the replay
}

// granted replays a node's history from an event on, without some events, and reports whether an attempt is then granted.
func (r *run) granted(a *attempt, from int, left without) (granted bool) {
	one := experiment{a, from, -1}
	if len(left.events) == 1 && left.onlyEvents() {
		one.without = left.events[0]
	}
	if known, ok := r.known[one]; ok {
		return known
	}
	granted = true // so it is, too, if the replay becomes what was recorded
	p := r.newReplay(a, from, left)
	p.settles = true
	p.again(a, func(e *event, reply string, changes []change) bool {
		granted = !r.refuses(a, e, reply, changes)
		return granted
	})
	if one.without >= 0 && r.known != nil {
		r.known[one] = granted
	}
	return granted
}

// experiment is the repetition of an attempt without one event.
type experiment struct {
	attempt       *attempt
	from, without int
}

// answered does the same, and returns the last reply of an attempt and what its command changes.
func (r *run) answered(a *attempt, from int, left without) (reply string, changes []change) {
	r.newReplay(a, from, left).again(a, func(_ *event, got string, did []change) bool {
		reply, changes = got, did
		return true
	})
	return reply, changes
}

// again replays a node's history up to an attempt, and calls visit with the reply to each command of the attempt until visit returns false. If one sets
// nothing now, only the last is sent after it, since a grant needs that: what the client would have sent between them is unknown.
func (p *replay) again(a *attempt, visit func(e *event, reply string, changes []change) (more bool)) {
	p.through(a, func(i int) bool {
		e := &a.node.events[i]
		if p.moot[i] && i != a.last() {
			return true
		}
		got, changes, ok := p.send(e.cmd, e.at, p.by(e.cmd))
		p.did = changes
		if ok && e.setsNoMore(changes) {
			p.drop(i, a.events)
		}
		return !ok || visit(e, got, changes)
	})
}

// instead replays a node's history up to an attempt and reports whether another attempt, which was refused, is granted in its place. If an earlier
// request of the other operation is granted already, it returns that.
func (r *run) instead(a, refused *attempt, from int, left without) (granted bool, early *event) {
	p := r.newReplay(a, from, left)
	p.waiter = refused.op
	p.through(a, func(int) bool { return p.early == nil })
	if p.early != nil {
		return false, p.early
	}
	for _, i := range refused.events {
		e := &a.node.events[i]
		if got, changes, ok := p.send(e.cmd, a.time(), p.by(e.cmd)); ok && r.accepts(e, got, changes) {
			return true, nil
		}
	}
	return false, nil
}

// newReplay returns a replay of a node's history from an event on, but no later than the first command of an attempt. Of events left out that came
// before, the data keep the effect, and the clock does not.
func (r *run) newReplay(a *attempt, from int, left without) *replay {
	n := a.node
	left.events = r.withWhole(n, r.withRight(n, left.events))
	from = min(from, a.events[0])
	for _, i := range left.events {
		if n.events[i].cmd != nil { // what a try undid later is left out with it
			from = min(from, i)
		}
	}
	p := &replay{run: r, node: n, from: from, left: left, out: map[string]uint64{}, found: map[uint64]asked{}, saved: map[int]map[string]*Value{},
		other: map[string]*Value{}, moot: map[int]bool{}}
	c := n.clockWithout(from, left.events)
	if at := n.events[from].at; left.stop != 0 {
		c.offset += n.events[from].clock.at(at) - c.at(at)
	}
	r.m.load(n.state(from), c)
	r.m.stop = left.stop
	p.keep(from, a.last())
	return p
}

// clockWithout returns the node's clock before its i-th event, without some events.
func (n *node) clockWithout(i int, left []int) clock {
	first := i
	for _, at := range left {
		if n.events[at].setsClock() {
			first = min(first, at)
		}
	}
	c := n.events[first].clock
	for at := first; at < i; at++ {
		if e := n.events[at].effect; e != nil && !slices.Contains(left, at) {
			c = c.after(e)
		}
	}
	return c
}

// withRight adds to the events that are left out, for each change of the clock among them, the later changes by which the same fault corrected it:
// without the first they would make the clock wrong.
func (r *run) withRight(n *node, events []int) []int {
	all := events
	for _, i := range events {
		if !n.events[i].setsClock() {
			continue
		}
		for _, j := range r.clockChanges(n, i) {
			if j > i && !slices.Contains(all, j) {
				all = append(slices.Clone(all), j)
			}
		}
	}
	return all
}

// clockChanges returns the changes of a node's clock by the fault whose effect an event is: how it made it wrong, and set it right again.
func (r *run) clockChanges(n *node, i int) (all []int) {
	fault := r.windowOf(n.events[i].effect)
	for j := range n.events {
		if e := &n.events[j]; e.setsClock() && r.windowOf(e.effect) == fault {
			all = append(all, j)
		}
	}
	return all
}

// setsClock reports whether an event is a fault that set a node's clock, or its rate.
func (e *event) setsClock() bool {
	return e.effect != nil && dated{Effect: e.effect}.setsClock()
}

// windowOf returns the index of the fault to which an effect belongs. Two faults may have like effects at one instant; of a restart, whose effect may be a
// copy that tells what it kept, there is one.
func (r *run) windowOf(e *history.Effect) int {
	like := -1
	for i := range r.Faults {
		for j := range r.Faults[i].Effects {
			switch o := &r.Faults[i].Effects[j]; {
			case o == e:
				return i
			case o.At == e.At && o.What == e.What && o.Node == e.Node:
				like = i
			}
		}
	}
	return like
}

// through repeats the events up to the last of an attempt, or until the rest would be as recorded. For the attempt's own events it calls visit, until
// that returns false.
func (p *replay) through(a *attempt, visit func(i int) (more bool)) {
	last := p.lastLeft()
	for i := p.from; i <= a.last(); i++ {
		p.save(i)
		p.did = nil
		if !slices.Contains(a.events, i) {
			p.step(i)
		} else if !visit(i) {
			return
		}
		if last == math.MaxInt {
			continue
		}
		if p.compare(i); i >= last && len(p.other) == 0 && len(p.out) == 0 && len(p.moot) == 0 {
			return
		}
	}
}

// lastLeft returns the last event that is left out; math.MaxInt if the rest may differ from the record in more than the data.
func (p *replay) lastLeft() (last int) {
	if !p.settles || len(p.left.events) == 0 || !p.left.onlyEvents() || len(p.saved) > 0 {
		return math.MaxInt
	}
	for _, i := range p.left.events {
		if p.node.events[i].effect != nil {
			return math.MaxInt
		}
		last = max(last, i)
	}
	return last
}

// compare notes which keys have another value than in the record after an event.
func (p *replay) compare(i int) {
	for _, c := range p.did {
		if _, differs := p.other[c.key]; !differs {
			p.other[c.key] = c.before
		}
	}
	for _, c := range p.node.events[i].changes {
		p.other[c.key] = c.after
	}
	for key, v := range p.other {
		if p.m.values[key].equal(v) {
			delete(p.other, key)
		}
	}
}

// send executes the request of a command at an instant. ok is false if there is no request, because the command cannot be executed again.
func (r *run) send(c *history.Command, at int64, again request) (reply string, changes []change, ok bool) {
	r.m.tick(at)
	if again == nil {
		return "", nil, false
	}
	reply, changes, _ = r.m.do(again, at)
	return answerOf(c, reply), changes, true
}

// by returns the request to repeat, with the times of the clock that the experiment gives to the client.
func (p *replay) by(c *history.Command) request {
	again := p.asks.of(c)
	if p.left.still == nil && !slices.Contains(p.left.right, c.Client) {
		return again
	}
	return p.timed(c, again, func(arg string) int64 {
		if slices.Contains(p.left.right, c.Client) {
			return p.off[c.Client]
		}
		return p.passed(c, arg, p.left.still.cmd)
	})
}

// timed returns a request with earlier times in its arguments: by how much is asked for each.
func (r *run) timed(c *history.Command, again request, earlier func(arg string) int64) request {
	for _, args := range again {
		for i, arg := range args {
			if at, unit := r.timeIn(arg, c.Sent); unit != 0 {
				at -= earlier(arg)
				args[i] = strconv.FormatFloat(float64(at)/unit, 'f', decimals(arg), 64)
			}
		}
	}
	return again
}

// passed returns by how much a time in a command is later than it was when a grant was asked for, but for a millisecond: by the time since, up to when its
// client first sent that time, and by how far the clock of its client is ahead of the clock of the grant's.
func (r *run) passed(c *history.Command, arg string, grant *history.Command) int64 {
	return max(r.readAt[reading{c.Client, arg}]-grant.Sent-int64(time.Millisecond), 0) + r.ahead(c, arg, grant.Client)
}

// timeIn reads an argument as a time near the instant at which its command was sent, in any unit. It returns the time since 1970 and the unit in
// nanoseconds; unit 0: not a time.
func (r *run) timeIn(arg string, sent int64) (at int64, unit float64) {
	const day = 24 * 3600 * 1_000_000_000
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil || r.Header.Epoch == 0 {
		return 0, 0
	}
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		if at := n * unit; at > float64(r.Header.Epoch+sent-day) && at < float64(r.Header.Epoch+sent+day) {
			return int64(at), unit
		}
	}
	return 0, 0
}

func decimals(number string) int {
	_, behind, _ := strings.Cut(number, ".")
	return len(behind)
}

// keep marks the states that a later restart or promotion restores.
func (p *replay) keep(from, to int) {
	for i := from; i <= to; i++ {
		if at := p.node.restored(&p.node.events[i]); at > from {
			p.saved[at] = nil
		}
	}
}

// save copies the data of the node before an event, if keep marked it.
func (p *replay) save(i int) {
	if _, wanted := p.saved[i]; wanted {
		p.saved[i] = maps.Clone(p.m.values)
	}
}

// step repeats one event, unless it is left out. A client whose grant is left out sends no more, as if it had been refused; one whose release or extend is
// goes no further with that.
func (p *replay) step(i int) {
	e := &p.node.events[i]
	if slices.Contains(p.left.events, i) {
		if e.ended() {
			p.m.persist(e.changes[0].key)
		} else if a := p.granting(i); a != nil && a.grant == i {
			p.out[e.cmd.Client] = e.op.ID
		} else if e.op != nil && e.op.Op != history.Acquire {
			p.drop(i, p.node.byOp[e.op.ID])
		}
		return
	}
	switch {
	case e.ended():
		p.end(e)
	case e.removedNothing():
	case e.effect != nil:
		p.m.tick(e.at)
		p.m.apply(e.effect, p.restored(e))
	case !p.skips(i):
		p.repeat(i)
	}
}

// restored returns the data that a restart or promotion restores in the replay; nil: they are not known.
func (p *replay) restored(e *event) map[string]*Value {
	at := p.node.restored(e)
	if at == fromKeys {
		return nil
	}
	if kept, ok := p.saved[at]; ok {
		return kept
	}
	return p.node.state(at)
}

// removedNothing reports whether an event is an eviction or a deletion of keys that no longer existed. Like a command that changed nothing, it changes
// nothing in a replay, even if they still exist there.
func (e *event) removedNothing() bool {
	return e.deletes() && len(e.changes) == 0
}

// resets reports whether by an event a node got the data of another time, or of another node.
func (e *event) resets() bool {
	return e.effect != nil && (e.effect.What == history.Restarted || e.effect.What == history.Promoted)
}

// deletes reports whether an event is an eviction or a delete of keys.
func (e *event) deletes() bool {
	return e.effect != nil && (e.effect.What == history.Evicted || e.effect.What == history.Deleted)
}

// end ends a lease as the node did, if it is the same lease, or brings it back.
func (p *replay) end(e *event) {
	c := e.changes[0]
	if c.before == nil {
		if p.m.values[c.key] == nil && c.after.Expires > p.m.ownTime(e.at) {
			p.m.set(c.key, c.after)
			p.m.loaded = false
		}
		return
	}
	if earliest, _ := c.before.ends(); earliest <= p.m.ownTime(e.at) && p.m.values[c.key].equal(c.before) {
		p.m.set(c.key, c.after)
		p.m.loaded = false
	}
}

// skips reports whether the replay omits a command. A command that changed nothing in the record is omitted, unless a grant depended on it or it may have
// written the value that was there. A client refused in the replay sends nothing until its next acquire.
func (p *replay) skips(i int) bool {
	e := &p.node.events[i]
	if e.op != nil && slices.Contains(p.left.ops, e.op.ID) || p.moot[i] {
		return true
	}
	if refused, ok := p.out[e.cmd.Client]; ok {
		if e.op == nil || e.op.Op != history.Acquire || e.op.ID == refused {
			return true
		}
		delete(p.out, e.cmd.Client)
	}
	if p.looked(i) {
		return true
	}
	return len(e.changes) == 0 && p.granting(i) == nil && (p.waiter == nil || e.op != p.waiter) && p.idle(i)
}

// looked reports whether a command of a try that was refused follows from what its client had read in the try, and in the replay reads otherwise: that there
// is something, or nothing. It repeats the reads on which a change depends.
func (p *replay) looked(i int) bool {
	e := &p.node.events[i]
	if e.op == nil || e.op.Op != history.Acquire || p.granting(i) != nil {
		return false
	}
	if at, otherwise := p.found[e.op.ID]; otherwise && at != e.asks() {
		return true
	}
	delete(p.found, e.op.ID)
	if again := p.asks.of(e.cmd); p.node.decides(i) && again != nil {
		if reply, _, _ := p.send(e.cmd, e.at, again); empty(reply) != empty(e.cmd.Reply) {
			p.found[e.op.ID] = e.asks()
		}
	}
	return false
}

// decides reports whether a command only reads, and the next of its operation changed something.
func (n *node) decides(i int) bool {
	e := &n.events[i]
	if len(e.changes) > 0 || len(e.touched) == 0 || e.cmd.Script != "" || resp.IsWrite(e.cmd.Name) || e.cmd.Name == "MULTI" {
		return false
	}
	all := n.byOp[e.op.ID]
	at, _ := slices.BinarySearch(all, i)
	return at+1 < len(all) && len(n.events[all[at+1]].changes) > 0
}

// idle reports whether the reply to a command that changed nothing proves that it wrote nothing. The reply of an acquire proves at least a refusal; a
// command without a reply may not have been executed.
func (p *replay) idle(i int) bool {
	e := &p.node.events[i]
	if e.judged {
		return e.idle
	}
	e.idle, e.judged = true, true
	again := p.asks.of(e.cmd)
	if again == nil || e.cmd.Replied == 0 || e.op != nil && e.op.Op == history.Acquire {
		return true
	}
	now := *p.m
	p.m.load(p.node.state(i), e.clock)
	e.idle = p.m.idle(e, again, nil)
	*p.m = now
	p.m.loaded = false
	return e.idle
}

// granting returns the attempt that granted a command's operation, if the command belongs to it; nil: none.
func (p *replay) granting(i int) *attempt {
	op := p.node.events[i].op
	if op == nil || op.Op != history.Acquire || op.Outcome != history.OK {
		return nil
	}
	for _, a := range p.attempts(op) {
		if a.node == p.node && slices.Contains(a.events, i) {
			return a
		}
	}
	return nil
}

// repeat executes a command again. A client that is now refused sends no more. The changes of an attempt that was refused in the record and is now granted
// are undone: what its client would have done next is unknown, and its hold would refuse others. For the same reason the rest of a try that was refused is
// left out if what it had set is no longer set, and that of a release or an extend if it gets another reply.
func (p *replay) repeat(i int) {
	e := &p.node.events[i]
	if e.cmd.Failed() && len(e.changes) == 0 {
		return
	}
	again := p.asks.of(e.cmd)
	if p.left.all || len(p.left.right) > 0 {
		again = p.by(e.cmd)
	}
	reply, changes, ok := p.send(e.cmd, e.at, again)
	p.did = changes
	switch a := p.granting(i); {
	case !ok || e.op == nil:
	case e.op.Op != history.Acquire:
		if !p.m.same(e.cmd, reply) {
			p.drop(i, p.node.byOp[e.op.ID])
		}
	case a != nil:
		if p.refuses(a, e, reply, changes) {
			p.m.undo(changes)
			p.out[e.cmd.Client] = e.op.ID
		}
	case p.accepts(e, reply, changes):
		p.m.undo(changes)
		if e.op == p.waiter && p.early == nil {
			p.early = e
		}
	case e.setsNoMore(changes):
		for _, try := range p.vain(e.op, p.node) {
			if slices.Contains(try, i) {
				p.drop(i, try)
			}
		}
	}
}

// setsNoMore reports whether a command that set something in the record changes nothing in the replay.
func (e *event) setsNoMore(changes []change) bool {
	return len(changes) == 0 && len(keysOf(e.changes, true)) > 0
}

// drop leaves out those of some commands that a client sent after the reply to the i-th.
func (p *replay) drop(i int, all []int) {
	for _, j := range all {
		if replied := p.node.events[i].cmd.Replied; j > i && replied != 0 && p.node.events[j].cmd.Sent >= replied {
			p.moot[j] = true
		}
	}
}

// refuses reports whether the reply to a command of a granted attempt is now a refusal. The record shows which replies refuse; for other replies, the
// changes of the command decide.
func (r *run) refuses(a *attempt, e *event, reply string, changes []change) bool {
	if r.m.same(e.cmd, reply) {
		return false
	}
	if r.goesInVain(a, e, reply) {
		return true
	}
	if refused, known := r.seen.refuse(shapeOf(e.cmd), reply); known {
		return refused
	}
	if a.clears(e) && reply != "(nil)" && !resp.IsErrorText(reply) {
		return false
	}
	if len(e.changes) == 0 && len(changes) == 0 { // the command reads, and its client decides
		return empty(e.cmd.Reply) != empty(reply)
	}
	return !does(e.changes, changes)
}

// goesInVain reports whether an attempt is refused after another reply to a command than the last, because a try that was in vain had got that: a client
// goes on as it did then, unless the reply has a time that may have passed since.
func (r *run) goesInVain(a *attempt, e *event, reply string) bool {
	if r.after == nil {
		r.findVain()
	}
	rest, vain := r.after[got(a, e, reply)]
	if !vain || e == &a.node.events[a.last()] || slices.ContainsFunc(timesIn(reply), func(text string) bool {
		_, unit := r.timeIn(text, e.cmd.Sent)
		return unit != 0
	}) {
		return false
	}
	var did []change
	for _, i := range rest {
		o := &a.node.events[i]
		reply, changes, ok := r.send(o.cmd, e.at, r.asks.of(o.cmd))
		did = append(did, changes...)
		vain = vain && !(ok && r.accepts(o, reply, changes))
	}
	slices.Reverse(did)
	r.m.undo(did)
	return vain
}

// findVain notes, for each reply in a try that was in vain, what was sent after it.
func (r *run) findVain() {
	r.after = map[string][]int{}
	for i := range r.Ops {
		for _, n := range r.nodes {
			for _, try := range r.vain(&r.Ops[i], n) {
				for at, j := range try {
					if e := &n.events[j]; r.Ops[i].Op == history.Acquire && e.cmd.Replied != 0 {
						r.after[got(&attempt{op: &r.Ops[i], node: n}, e, e.cmd.Reply)] = try[at+1:]
					}
				}
			}
		}
	}
}

// got names a reply to a request of an attempt.
func got(a *attempt, e *event, reply string) string {
	return fmt.Sprint(a.op.Mode, a.node.index, e.cmd.Name, e.cmd.Args, strings.ReplaceAll(reply, `"`, ""))
}

// clears reports whether a command of an attempt only deletes keys before another command sets some, so that deleting none is not a refusal.
func (a *attempt) clears(e *event) bool {
	return a.grant >= 0 && len(e.changes) > 0 && len(keysOf(e.changes, true)) == 0 && len(keysOf(a.node.events[a.grant].changes, true)) > 0
}

// does reports whether a command has the same effect in the replay as in the record: it sets the same keys, or if it set none, deletes the same keys. If
// it set some, its deletions don't count: another command may already have removed its client's place in a queue, or expired marks.
func does(recorded, changes []change) bool {
	set, again := keysOf(recorded, true), keysOf(changes, true)
	if len(set) > 0 || len(again) > 0 {
		return slices.Equal(set, again)
	}
	return slices.Equal(keysOf(recorded, false), keysOf(changes, false))
}

// keysOf returns the keys that changes set, or those that they delete, in order.
func keysOf(changes []change, set bool) (keys []string) {
	for _, c := range changes {
		if (c.after != nil) == set {
			keys = append(keys, c.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// empty reports whether a reply means that there is no value.
func empty(reply string) bool {
	return reply == "(nil)" || reply == "0" || reply == "[]" || reply == `""`
}
