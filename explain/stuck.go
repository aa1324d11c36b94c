package explain

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// wait is an acquire that was not granted in time.
type wait struct {
	*run
	op      *history.Operation
	from    int64 // since when the lock was available
	until   int64 // when the violation was established, or the acquire refused
	attempt *attempt
}

// stuck explains why a lock was unavailable although nobody could hold it, from the keys on the server when the waiter was refused.
func (r *run) stuck(v *checker.Violation) Answer {
	w := r.waiter(v)
	switch {
	case w == nil:
		return Answer{}
	case slices.ContainsFunc(r.nodes, func(n *node) bool { return !n.known(w.until) }):
		return w.never()
	case w.attempt == nil:
		return firstOf(w.unseen, w.withoutReply, w.unasked)
	case w.idle():
		return firstOf(w.unseen, w.unasked)
	case r.votes > 1:
		return firstOf(w.unseen, w.outvoted, w.never)
	}
	return firstOf(w.unseen, w.clocks, w.fault, w.blocker, w.never)
}

// never explains a wait in a run in which no acquire of the mode was granted.
func (w *wait) never() Answer {
	switch {
	case slices.ContainsFunc(w.Ops, func(op history.Operation) bool {
		return op.Op == history.Acquire && op.Outcome == history.OK && op.Mode == w.op.Mode
	}):
	case w.attempt != nil && w.sound(w.attempt):
		return because(verdicts.NeverGranted, sentence("whatever is left out, no acquire like that of ", Name(w.op.Client), " was granted in the whole run"))
	case w.nobody:
		return neverGranted()
	}
	return Answer{}
}

// neverGranted returns the answer for a run in which nobody was granted the lock.
func neverGranted() Answer {
	return because(verdicts.NeverGranted, sentence("the operations alone prove it: no acquire of the whole run was granted"))
}

// waiter finds the acquire that waited, and its last attempt before until.
func (r *run) waiter(v *checker.Violation) *wait {
	var w *wait
	until := v.At + v.Lasted
	for _, o := range v.Witness.All() {
		if o.Op != history.Acquire || !slices.Contains(v.Clients, o.Client) || o.Outcome == history.OK && o.Return <= v.At || r.ops[o.ID] == nil {
			continue
		}
		if w == nil || o.Client == v.Clients[0] {
			w = &wait{run: r, op: r.ops[o.ID], from: v.At, until: min(until, o.Return)}
			if v.Lasted == 0 {
				w.until = o.Return
			}
		}
	}
	if w == nil {
		return nil
	}
	if w.op.Outcome == history.OK { // up to the request that was granted
		for _, a := range r.attempts(w.op) {
			w.until = min(w.until, a.node.events[a.events[0]].at-1)
		}
	}
	for _, n := range r.nodes {
		if a := w.askedBefore(w.op, n, n.by(w.until)); a != nil && (w.attempt == nil || a.time() >= w.attempt.time()) {
			w.attempt = a
		}
	}
	return w
}

// askedBefore returns the last attempt of an operation before an event; nil: none.
func (r *run) askedBefore(op *history.Operation, n *node, end int) *attempt {
	if try := r.lastTry(op, n, end); len(try) > 0 {
		return &attempt{op: op, node: n, events: try, grant: -1}
	}
	return nil
}

// sound reports whether the order explains the replies of an attempt.
func (r *run) sound(a *attempt) bool {
	return !a.node.broken && !slices.ContainsFunc(a.events, func(i int) bool { return a.node.events[i].open })
}

// would reports whether an attempt that was refused would be granted when something is left out.
func (r *run) would(a *attempt, from int, left without) bool {
	granted := false
	r.newReplay(a, from, left).again(a, func(e *event, reply string, changes []change) bool {
		granted = r.accepts(e, reply, changes)
		return !granted
	})
	return granted
}

// accepts reports whether the replayed reply to a command of a refused attempt is a grant: in the record only grants got that reply, or, if the record
// does not have it, the command changes more keys than it did, or finds a key gone.
func (r *run) accepts(e *event, reply string, changes []change) bool {
	if r.m.same(e.cmd, reply) {
		return false
	}
	if refused, known := r.seen.refuse(shapeOf(e.cmd), reply); known {
		return !refused
	}
	if len(changes) == 0 && !slices.ContainsFunc(e.changes, func(c change) bool { return !c.renewed() }) { // it reads
		return empty(reply) && !empty(e.cmd.Reply)
	}
	return len(changes) > len(e.changes) || slices.ContainsFunc(changes, change.made)
}

// fault explains a wait by the effect of a fault on the data or the clock of the node that refused.
func (w *wait) fault() Answer {
	n := w.attempt.node
	for i := w.attempt.events[0] - 1; i >= 0; i-- {
		e := &n.events[i]
		if e.effect != nil && w.would(w.attempt, i, without{events: []int{i}}) && w.madeWithout(i) {
			return because(faultNames[e.effect.What], sentence("without ", words(e), ", ", Name(w.op.Client), w.prize()), e.reported("", nil))
		}
	}
	return Answer{}
}

// clocks explains a wait by clients' clocks that were wrong when they wrote what is in the way.
func (w *wait) clocks() Answer {
	makers := w.makers(w.wrote())
	if len(makers) == 0 {
		return Answer{}
	}
	from := makers[len(makers)-1]
	return w.byWrongClocks(func(right []string) bool { return w.would(w.attempt, from, without{right: right}) }, Name(w.op.Client), w.prize())
}

// madeWithout reports whether the command that made the key in the way makes it without an event, too. An event that it needs, such as the loss of the
// hold before, gave its client the lock and did not leave it there.
func (w *wait) madeWithout(i int) bool {
	n, makers := w.attempt.node, w.makers(w.wrote())
	if len(makers) == 0 || makers[0] < i {
		return true
	}
	maker := &n.events[makers[0]]
	_, changes := w.answered(&attempt{op: maker.op, node: n, events: makers[:1], grant: makers[0]}, i, without{events: []int{i}})
	return does(maker.changes, changes)
}

// blocker explains a wait by the last command that created the key in the way: its client, and why the key stayed.
func (w *wait) blocker() Answer {
	n := w.attempt.node
	makers := w.makers(w.wrote())
	if len(makers) == 0 || w.would(w.attempt, makers[len(makers)-1], without{}) { // the refusal is not reproduced
		return Answer{}
	}
	for _, at := range makers {
		if w.freedWithout(at) {
			if a := w.blocked(at, ""); a.Cause != "" {
				return a
			}
		}
	}
	writers := w.makers(func(e *event) bool { // what it wrote may have expired since, and others may have built on it
		return slices.ContainsFunc(e.changes, func(c change) bool { return c.after != nil && !c.renewed() && !c.freed() })
	})
	if len(writers) == 0 { // each removed more than it wrote
		return Answer{}
	}
	needed := w.needed(writers[len(writers)-1], w.opsOf(makers))
	for _, at := range slices.Backward(writers) { // the first writer: later writes may have changed nothing
		if op := n.events[at].op; op != nil && slices.Contains(needed, op.ID) {
			return w.blocked(at, andOthers(len(needed)-1))
		}
	}
	return Answer{}
}

// andOthers names the acquires that are left out together with one.
func andOthers(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and one other acquire"
	}
	return fmt.Sprintf(" and %d other acquires", n)
}

// needed returns the smallest set of earlier acquires, in order, that must be left out together for the waiter to be granted; none if leaving out all
// is not enough. It leaves out released holds, and those of which nothing is in the way any more, only if need be.
func (w *wait) needed(from int, inTheWay []uint64) []uint64 {
	granted := func(left []uint64) bool { return w.would(w.attempt, from, without{ops: left}) }
	ops := w.takers()
	if !granted(ops) {
		return nil
	}
	for _, spared := range []func(op uint64) bool{
		func(op uint64) bool { return w.gone(w.ops[op], w.attempt.time()) },
		func(op uint64) bool { return !slices.Contains(inTheWay, op) },
	} {
		if left := slices.DeleteFunc(slices.Clone(ops), spared); granted(left) {
			ops = left
		}
	}
	return fewest(ops, granted)
}

// opsOf returns the operations of some of the node's commands.
func (w *wait) opsOf(events []int) (ops []uint64) {
	for _, i := range events {
		if op := w.attempt.node.events[i].op; op != nil {
			ops = append(ops, op.ID)
		}
	}
	return ops
}

// freedWithout reports whether the waiter would have been granted without a command, or without its operation. An acquire is left out with its whole
// hold, release included. Of the waiter's own acquire only the command is: one that did not ask would not be granted.
func (w *wait) freedWithout(at int) bool {
	n := w.attempt.node
	op := n.events[at].op
	if op == nil || op.ID == w.op.ID {
		return w.would(w.attempt, at, without{events: []int{at}})
	}
	from := n.byOp[op.ID][0] // an earlier try may have left it
	if h := w.holdOf[op.ID]; h != nil && op.Op == history.Acquire && h.Acquire.ID == op.ID {
		var all []uint64
		for _, o := range h.Operations() {
			all = append(all, o.ID)
		}
		return w.would(w.attempt, from, without{ops: all})
	}
	return w.would(w.attempt, at, without{events: []int{at}}) || w.would(w.attempt, from, without{ops: []uint64{op.ID}})
}

// takers returns the earlier acquires that requested the same keys as the waiter.
func (w *wait) takers() (ops []uint64) {
	n, first, keys := w.attempt.node, w.attempt.events[0], w.attempt.keys()
	for i := range first {
		e := &n.events[i]
		if e.op != nil && e.op.Op == history.Acquire && e.op.ID != w.op.ID && touches(e.touched, keys) && !slices.Contains(ops, e.op.ID) {
			ops = append(ops, e.op.ID)
		}
	}
	return ops
}

// blocked returns the answer for a key that one command created; others names what else is left out.
func (w *wait) blocked(at int, others string) Answer {
	n, first := w.attempt.node, w.attempt.events[0]
	maker := &n.events[at]
	values := n.state(first)
	for _, c := range maker.changes {
		v := values[c.key]
		if v == nil || !slices.Contains(w.attempt.keys(), c.key) {
			continue
		}
		why, events := w.whyKept(c.key, v, maker), []Event{maker.reported("", []string{c.key})}
		if since := n.unleased(c.key, first); since > at {
			why, events = sentence(why, " since ", words(&n.events[since])), append(events, n.report(since, []string{c.key}))
		}
		answer := because(w.left(v, n, at), sentence("without ", words(maker), others, ", ", Name(w.op.Client), w.prize()+": ", why), events...)
		answer.Moved = n.moved([]string{c.key}, at+1, first)
		return answer
	}
	return Answer{}
}

// unleased returns the index of the command since which a key has no lease, before the i-th event; -1: it has one, or there is no such command.
func (n *node) unleased(key string, i int) int {
	since := -1
	for j := range n.events[:i] {
		for _, c := range n.events[j].changes {
			switch {
			case c.key != key:
			case c.after == nil || c.after.Expires != 0 || n.events[j].cmd == nil:
				since = -1
			case c.before == nil || c.before.Expires != 0:
				since = j
			}
		}
	}
	return since
}

// makers returns the commands that may have created the key in the way, the latest first: of each operation the last that changed the waiter's keys
// and satisfies made.
func (w *wait) makers(made func(*event) bool) (out []int) {
	const most = 32
	n, first, keys := w.attempt.node, w.attempt.events[0], w.attempt.keys()
	seen := map[uint64]bool{}
	for i := first - 1; i >= 0 && len(out) < most; i-- {
		e := &n.events[i]
		if e.cmd == nil || e.open || !changesAny(e, keys) || !made(e) || e.op != nil && seen[e.op.ID] {
			continue
		}
		if e.op != nil {
			seen[e.op.ID] = true
		}
		out = append(out, i)
	}
	return out
}

// wrote returns a function that reports whether a command wrote what the waiter found: a part that it created, or that no later command overwrote. It
// must be called with the latest command first.
func (w *wait) wrote() func(*event) bool {
	values, written, keys := w.attempt.node.state(w.attempt.events[0]), map[keyPart]bool{}, w.attempt.keys()
	return func(e *event) (found bool) {
		for _, c := range e.changes {
			if !slices.Contains(keys, c.key) {
				continue
			}
			now := values[c.key].parts()
			for part, hit := range c.parts() {
				name := keyPart{c.key, part}
				if _, there := now[part]; !there || hit == Freed || hit == Renewed {
					continue
				}
				found = found || hit == Made || !written[name]
				written[name] = true
			}
		}
		return found
	}
}

// left names the cause for a key that was left behind.
func (w *wait) left(v *Value, n *node, at int) verdicts.Cause {
	maker := &n.events[at]
	switch {
	case v.Expires == 0 && (maker.op == nil || !w.gone(maker.op, w.until) || maker.at+w.Header.Lease <= w.until): // not what a release left of a lease that still ran
		return verdicts.NoExpiry
	case maker.op == nil || maker.op.Op == history.Extend:
		return verdicts.Resurrection
	case maker.cmd.Replied != 0 && maker.cmd.Replied <= maker.op.Return && maker.op.ID != w.op.ID: // its operation received the reply
	case !w.refusedAt(n, at):
		return verdicts.AmbiguousReply
	}
	return verdicts.Orphan
}

// refusedAt reports whether a command was refused, so that what it left is no grant. If its reply is unknown, it was refused if it named the keys that a
// grant of its kind set, and set others. A request for votes was refused if it got too few.
func (w *wait) refusedAt(n *node, at int) bool {
	e := &n.events[at]
	if w.votes > 1 {
		return w.votesWith(e) < w.quorum()
	}
	reply, _, ok := w.asked(n, at, e.cmd, e.at)
	if !ok {
		return false
	}
	if refused, known := w.seen.refuse(shapeOf(e.cmd), reply); known {
		return refused
	}
	grants := w.grantsLike(e)
	return len(grants) > 0 && !e.setsAsAny(grants)
}

// grantsLike returns the commands of a command's kind that granted, and set only keys that it named.
func (r *run) grantsLike(e *event) (grants []*event) {
	named := resp.Keys(append([]string{e.cmd.Name}, e.cmd.Args...))
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Op == history.Acquire && op.Outcome == history.OK {
			for _, a := range r.attempts(op) {
				if a.grant < 0 {
					continue
				}
				g := &a.node.events[a.grant]
				set := keysOf(g.changes, true)
				others := func(key string) bool { return !slices.Contains(named, key) }
				if shapeOf(g.cmd) == shapeOf(e.cmd) && len(set) > 0 && !slices.ContainsFunc(set, others) {
					grants = append(grants, g)
				}
			}
		}
	}
	return grants
}

// whyKept returns why the key in the way stayed.
func (w *wait) whyKept(key string, v *Value, maker *event) statement {
	end := sentence(Key(key), " never expires")
	if v.Expires != 0 {
		end = sentence(Key(key), " expires at ", Instant(v.Expires-w.Header.Epoch))
	}
	switch {
	case maker.cmd.Replied == 0:
		return sentence(Name(maker.cmd.Client), " saw no reply, and ", end)
	case maker.op != nil && maker.op.Op == history.Acquire && maker.op.Outcome == history.OK && w.releaseOf(maker.op) == nil:
		return sentence(Name(maker.cmd.Client), " never released, and ", end)
	}
	return end
}

// votesWith returns at how many places a request and its like, those sent nearest to it, changed something.
func (w *wait) votesWith(e *event) (votes int) {
	nearest := map[place]*event{}
	away := func(o *event) int64 { return max(o.cmd.Sent-e.cmd.Sent, e.cmd.Sent-o.cmd.Sent) }
	for _, n := range w.nodes {
		for _, i := range n.byOp[e.cmd.Op] {
			o := &n.events[i]
			at := w.place(o)
			if shapeOf(o.cmd) == shapeOf(e.cmd) && (nearest[at] == nil || away(o) < away(nearest[at])) {
				nearest[at] = o
			}
		}
	}
	for _, o := range nearest {
		if len(o.changes) > 0 {
			votes++
		}
	}
	return votes
}

// free reports whether the place of the attempt was free during most of the wait, and its client sent no request there.
func (w *wait) free() bool {
	n, first := w.attempt.node, w.attempt.events[0]
	last, keys := w.attempt.last(), w.attempt.keys()
	freed, next := n.events[last].at, first+1
	for ; next < len(n.events) && (next <= last || n.events[next].at < w.until); next++ {
		if changesAny(&n.events[next], keys) && !slices.Contains(w.attempt.events, next) {
			freed = n.events[next].at
		}
	}
	if w.until-freed < (w.until-w.from)/2 {
		return false
	}
	asks := []*event{w.begins(w.op, n)} // the server may not have known its script
	for _, i := range w.attempt.events {
		asks = append(asks, &n.events[i])
	}
	for _, e := range asks {
		if reply, changes, ok := w.asked(n, next, e.cmd, w.until); ok && w.accepts(e, reply, changes) {
			return true
		}
	}
	return false
}

// asked returns the reply to a request that a node executes at an instant, with the data before its i-th event, and what the request changes; ok
// reports whether the request can be executed.
func (r *run) asked(n *node, i int, c *history.Command, at int64) (reply string, changes []change, ok bool) {
	var own clock // of a node that has executed nothing
	if last := len(n.events) - 1; last >= 0 {
		own = n.events[min(i, last)].clock
	}
	r.m.load(n.state(i), own)
	return r.send(c, at, r.asks.of(c))
}
