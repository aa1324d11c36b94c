package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/verdicts"
)

// wait is an acquire that was refused or kept waiting though nobody held the lock.
type wait struct {
	*run
	op    *history.Operation
	from  int64
	until int64 // when it was refused, or the wait was too long
}

// stuck explains a wait or a refusal: whose mark is in the way, and why it stays.
func (r *run) stuck(v *checker.Violation) Answer {
	w := r.waiter(v)
	if w == nil {
		return Answer{}
	}
	for _, n := range inOrder(w.nodes) { // a command of it took the lock, and it did not see the reply
		for _, i := range n.byOp[w.op.ID] {
			if e := &n.events[i]; e.At <= w.until && e.cmd != nil && e.cmd.Replied == 0 && w.quorum() == 1 && w.took(e) {
				return Answer{Cause: verdicts.AmbiguousReply, Events: []Event{w.report(n, i, e.Changes[0].Key, "")},
					Says: sentence("had ", Name(e.Client), " seen a reply to its ", called(e.Name, e.Script, e.Args), " at ", Instant(e.At), ", it would have had the lock")}
			}
		}
	}
	if r.nobody {
		return w.never()
	}
	try := w.lastTry()
	if !w.known(try) {
		return Answer{}
	}
	if from, to := w.quiet(); to > from && to-from > (w.until-w.from)/2 { // it waited to be woken
		asleep := from + (to-from)/2
		for i := range try {
			q := try[i]
			q.pos, q.at, q.event = q.node.by(asleep), asleep, nil
			if reply, _ := w.ask(&q, nil, nil, w.own(q.node, q.at)); effects.Alike(q.cmd, reply) {
				try[i], from = q, to // it would still have been refused
			}
		}
		if from == to {
			return w.refused(try)
		}
		return Answer{Cause: verdicts.LostWakeup, Says: sentence(Name(w.op.Client), " sent no request from ", Instant(from), " until ", Instant(to), ", while the lock was free")}
	}
	if v.Property == verdicts.Progress && !slices.ContainsFunc(try, func(q query) bool { return q.cmd.Replied >= w.from }) {
		return Answer{Says: sentence("the cause is not known: none of ", Name(w.op.Client), "'s requests was answered while the lock was free")}
	}
	return w.refused(try)
}

// refused explains the refusal of a try.
func (w *wait) refused(try []query) Answer {
	for i := range try {
		if a := w.blocked(&try[i]); a.Cause != "" {
			return a
		}
	}
	if like := func(op history.Operation) bool {
		return op.Op == history.Acquire && op.Outcome == history.OK && op.Mode == w.op.Mode
	}; !slices.ContainsFunc(w.Ops, like) {
		return w.never()
	}
	return Answer{}
}

// waiter finds the acquire that waited.
func (r *run) waiter(v *checker.Violation) (w *wait) {
	until := v.At + v.Lasted
	for _, o := range v.Witness.All() {
		op := r.ops[o.ID]
		if op == nil || op.Op != history.Acquire || !slices.Contains(v.Clients, op.Client) ||
			op.Outcome == history.OK && (op.Return <= v.At || v.Property == verdicts.Linearizability) {
			continue
		}
		if w == nil || op.Client == v.Clients[0] {
			w = &wait{run: r, op: op, from: v.At, until: min(until, op.Return)}
			if v.Lasted == 0 {
				w.until = op.Return
			}
		}
	}
	if w != nil && w.op.Outcome == history.OK { // up to the request that was granted
		try := r.try(w.op, math.MaxInt64)
		if i := slices.IndexFunc(try, func(q query) bool { return !w.takesBack(&q) }); i >= 0 {
			w.until = min(w.until, try[i].cmd.Sent-1)
		}
	}
	return w
}

// calls returns the acquires that the wait consists of, by their calls.
func (w *wait) calls() (all []*history.Operation) {
	for i := range w.Ops {
		if op := &w.Ops[i]; op.Op == history.Acquire && op.Client == w.op.Client && op.Key == w.op.Key && op.Return >= w.from && op.Call <= w.until {
			all = append(all, op)
		}
	}
	slices.SortStableFunc(all, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return all
}

// takesBack reports whether a request is one that releases send: an acquire that was refused may
// take back what it set.
func (w *wait) takesBack(q *query) bool { return w.releases[history.KindOf(q.cmd.Name, q.cmd.Script)] }

// lastTry returns the last requests of the wait that were answered and that take nothing back.
func (w *wait) lastTry() []query {
	for _, op := range slices.Backward(w.calls()) {
		for all := w.try(op, w.until); len(all) > 0; all = w.try(op, all[0].cmd.Sent-1) {
			try := slices.DeleteFunc(slices.Clone(all), func(q query) bool {
				return q.cmd.Replied == 0 || w.takesBack(&q) || op != w.op && q.cmd.Sent < w.from
			})
			if len(try) > 0 {
				return try
			}
		}
	}
	return nil
}

// never answers for a run in which nobody was granted the lock.
func (w *wait) never() Answer {
	return Answer{Cause: verdicts.NeverGranted, Says: sentence("no acquire like that of ", Name(w.op.Client), " was granted in the whole run")}
}

// took reports whether a command set what grants of the same kind set.
func (w *wait) took(e *event) bool {
	sets := func(e *event) (keys []string) {
		for i := range e.Changes {
			if len(set(&e.Changes[i])) > 0 {
				keys = append(keys, e.Changes[i].Key)
			}
		}
		slices.Sort(keys)
		return keys
	}
	its := sets(e)
	if len(its) == 0 || len(w.holds) == 0 {
		return len(its) > 0
	}
	for _, h := range w.holds {
		for _, q := range w.try(h.op, math.MaxInt64) {
			if q.event != nil && q.cmd.Name == e.Name && q.cmd.Script == e.Script && slices.Equal(sets(q.event), its) {
				return true
			}
		}
	}
	return false
}

// quiet returns the longest stretch of the wait in which no request of the waiter was under way.
func (w *wait) quiet() (from, to int64) {
	last := w.from
	until := func(at int64) {
		if at = min(at, w.until); at-last > to-from {
			from, to = last, at
		}
	}
	var sent []*history.Command
	for _, op := range w.calls() {
		sent = append(sent, w.sent[op.ID]...)
	}
	for _, c := range sent {
		if c.Sent > w.until || c.Waits() || c.Replied != 0 && (upstream.Handshake(c.Name) || strings.HasSuffix(c.Name, "SUBSCRIBE")) {
			continue
		}
		until(c.Sent)
		ends := c.Replied
		if ends == 0 { // at the latest when the node came back
			ends = w.until
			if n := w.nodes[c.Node]; n != nil {
				after := n.events[n.by(c.Sent):]
				if i := slices.IndexFunc(after, func(e event) bool { return e.Effect == history.Restarted }); i >= 0 {
					ends = after[i].At
				}
			}
		}
		last = max(last, c.Sent, min(ends, w.until))
	}
	until(w.until)
	return from, to
}

// blocked asks a refused request again without each part of the data, and answers by the part that
// is in the way.
func (w *wait) blocked(q *query) Answer {
	own := w.own(q.node, q.at)
	plain, did := w.ask(q, nil, nil, own)
	if !effects.Alike(q.cmd, plain) {
		return Answer{}
	}
	decides := func(without []part) bool {
		reply, changes := w.ask(q, nil, without, own)
		return reply != plain && !effects.Alike(q.cmd, reply) && (q.grants() || setsMore(changes, did) || len(changes) == 0)
	}
	var parts []part
	for key := range q.node.byKey {
		v, _ := q.node.value(key, q.pos)
		for name := range v.Parts() {
			parts = append(parts, part{key, name})
		}
	}
	slices.SortFunc(parts, comparePart)
	if !decides(parts) {
		return Answer{}
	}
	for _, p := range parts {
		if decides([]part{p}) {
			return w.left(q, p)
		}
	}
	var all []part // each of several is enough
	for _, p := range parts {
		if all = append(all, p); decides(all) {
			return w.left(q, p)
		}
	}
	return Answer{}
}

// left answers by a part that is in the way: whose it is, and why it stays.
func (w *wait) left(q *query, p part) Answer {
	e, made := q.node.maker(p, q.pos)
	if e == nil {
		return Answer{}
	}
	v, _ := q.node.value(p.key, q.pos)
	why := sentence(Key(p.key), " never expires")
	if v.Until != 0 {
		why = sentence(Key(p.key), " expires at ", Instant(v.Until))
	}
	_, scored := v.Value.(map[string]float64)
	var h *hold // that the command began, or renewed
	if e.op != nil {
		h = w.holdOf(e.op)
	}
	cause, holder := verdicts.Orphan, Name(e.Client)
	switch {
	case e.Effect != "": // a fault brought it back
	case h != nil && w.released(h, q.node, made, q.pos):
		cause, why = verdicts.NoUnlock, sentence(holder, "'s release left it there")
	case v.Until == 0 && !scored:
		cause = verdicts.NoExpiry
	case (e.op == nil || e.op.Op == history.Extend) && q.node.change(made, p.key).Before == nil:
		cause = verdicts.Resurrection
	case e.op.Op == history.Acquire && e.op.Outcome != history.OK && e.cmd != nil && (e.cmd.Replied == 0 || e.cmd.Replied > e.op.Return) && w.took(e):
		cause, why = verdicts.AmbiguousReply, sentence(holder, " saw no reply, and ", why)
	case h != nil && h.release == nil:
		why = sentence(holder, " never released, and ", why)
	}
	return Answer{Cause: cause, Events: []Event{w.report(q.node, made, p.key, "")},
		Says: sentence("without ", q.node.words(made, p.key), ", ", Name(w.op.Client), " would have been granted it: ", why)}
}

// maker returns the command that made a part as it was before an event; nil: it was there from the
// start.
func (n *node) maker(p part, i int) (*event, int) {
	now, _ := n.value(p.key, i)
	text, _ := data(now, p.name)
	for _, j := range slices.Backward(n.byKey[p.key]) {
		if j >= i {
			continue
		}
		c := n.change(j, p.key)
		was, there := data(c.Before, p.name)
		if !there || was != text && !counts(was, text) {
			return &n.events[j], j
		}
	}
	return nil, -1
}

// released reports whether the release of a hold reached a node after its mark and left it.
func (w *wait) released(h *hold, n *node, made, by int) bool {
	if h.release == nil || h.release.Outcome == history.Fail || w.shares() { // others may keep what they share
		return false
	}
	return slices.ContainsFunc(w.try(h.release, math.MaxInt64), func(q query) bool {
		return q.node == n && q.pos > made && q.pos < by && q.cmd.Replied != 0 && !q.cmd.Failed()
	})
}
