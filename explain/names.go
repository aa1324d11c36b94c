package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// faultNames maps the effect of a fault to the cause.
var faultNames = map[string]verdicts.Cause{
	history.Restarted: verdicts.RestartLoss,
	history.Promoted:  verdicts.FailoverLoss,
	history.ClockSet:  verdicts.ClockJump,
	history.ClockRate: verdicts.ClockSkew,
	history.Deleted:   verdicts.KeyDeleted,
	history.Evicted:   verdicts.Eviction,
}

// owner relates a command to the hold that it hit.
type owner string

const (
	others owner = "another's"
	own    owner = "its own"
	late   owner = "its own, sent before that hold"
)

// causeOfOwner maps the owner of a command to the cause.
var causeOfOwner = map[owner]verdicts.Cause{others: verdicts.MisUnlock, own: verdicts.OwnRelease, late: verdicts.LateRequest}

// finding names the cause for an event that made the difference.
func (m *overlap) finding(p pairing, i int) finding {
	e := &p.first.node.events[i]
	f := finding{node: p.first.node, event: i, earlier: i < p.from(), evidence: e.reported(m.loser(p, i), p.second.keys())}
	f.evidence.Shared = p.first.node.shared(i)
	if len(m.nodes) > 1 {
		f.places = []int{f.node.index}
	}
	switch {
	case e.effect != nil:
		f.rank, f.name, f.places, f.fault = byFault, faultNames[e.effect.What], []int{e.effect.Node}, m.windowOf(e.effect)
		if !e.setsClock() && !changesAny(e, p.second.keys()) { // it found nothing left to do
			f.rank = inVain
		}
		if e.setsClock() {
			for _, j := range m.clockChanges(f.node, i) {
				if j > i && j < p.second.grant {
					f.right = f.node.events[j].at
				}
			}
		}
		m.resumed(p, &f)
	case e.ended():
		if shortened, renewal := m.shortened(p, i); renewal != nil {
			f = m.finding(p, shortened)
			f.more = sentence(f.more, ", after which ", words(renewal), " came too late")
			return f
		}
		if by := m.early(p, i); by != nil {
			f.rank, f.name, f.more, f.moved = byFault, faultNames[by.effect.What], sentence(", which came early because of ", words(by)), m.movedEnd(p, e.at)
			m.resumed(p, &f)
			return f
		}
		f.rank, f.conclusion = byTime, m.lease(p, e.at)
		if vain := m.renewedInVain(p, e.at); vain != nil && f.name == verdicts.RenewalGap {
			f.more = sentence(f.more, ", which ", Name(m.first.Client), "'s renewal at ", Instant(vain.Call), " did not move")
		}
	default:
		f.rank, f.name = m.causeOf(p, i)
		switch {
		case f.rank != byAcquire:
		case m.clearsAway(e):
			f.rank, f.conclusion = byTime, m.lease(p, e.at)
		case !m.leadsOn(e.op, f) && m.lapsed(p, i):
			f.rank, f.conclusion, f.more = byTime, m.lease(p, e.at), sentence(", which came after the end of ", Name(m.first.Client), "'s lease")
		}
	}
	return f
}

// early returns the change of the node's clock because of which a key ended before the second was granted, and would not have with a clock that ran right
// since its end had been set; nil: none. Of a fault that changed the clock several times it is the first.
func (m *overlap) early(p pairing, end int) *event {
	n := p.first.node
	c, by, set := n.events[end].changes[0], -1, -1
	for j := range n.events[:end] {
		e := &n.events[j]
		if e.setsClock() {
			by = j
		}
		if slices.ContainsFunc(e.changes, func(o change) bool { return o.key == c.key && o.after != nil && o.after.Expires == c.before.Expires }) {
			set = j
		}
	}
	if by < 0 || set < 0 {
		return nil
	}
	e := &n.events[set]
	if e.cmd == nil || e.at+c.before.Expires-m.Header.Epoch-e.clock.at(e.at) <= p.second.time()+grain {
		return nil
	}
	return &n.events[m.clockChanges(n, by)[0]]
}

// clearsAway reports whether a command by which another was granted a hold beside the first's came when the first's lease was over: it may remove what
// is left of that.
func (m *overlap) clearsAway(e *event) bool { return m.beside(e.op) && m.Header.Epoch+e.at >= m.due() }

// lapsed reports whether a command by which another asked for the lock removed what the first had written because its lease had ended, by a clock that is
// right: just after the first's grant, it would not have, or its client had read a time that was past.
func (m *overlap) lapsed(p pairing, i int) bool {
	n := p.first.node
	e := &n.events[i]
	its := func(w *event) bool { return w.cmd.Client == m.first.Client }
	again := m.asks.of(e.cmd)
	if again == nil || e.op == nil || m.leaseEnd(p, i) > e.at || !slices.ContainsFunc(n.writers(i), its) {
		return false
	}
	if m.readPast(p, i) {
		return true
	}
	m.m.load(n.state(i), e.clock)
	m.m.stop = p.first.time()
	_, changes, _ := m.m.do(m.timed(e.cmd, again, func(arg string) int64 { return m.passed(e.cmd, arg, p.first.granting().cmd) }), e.at)
	return len(changes) == 0
}

// readPast reports whether a client had read, in the same try, a time that was past when it sent a command.
func (m *overlap) readPast(p pairing, i int) bool {
	n := p.first.node
	for _, try := range m.tries(n.events[i].op, n) {
		at := slices.Index(try, i)
		if at >= 0 && slices.ContainsFunc(try[:at], func(j int) bool {
			e := &n.events[j]
			return len(e.changes) == 0 && slices.ContainsFunc(timesIn(e.cmd.Reply), func(text string) bool {
				until, unit := m.timeIn(text, e.cmd.Sent)
				return unit != 0 && until <= m.Header.Epoch+n.events[i].cmd.Sent
			})
		}) {
			return true
		}
	}
	return false
}

// timesIn returns the parts of a reply that may be times: its numbers, also within a text.
func timesIn(reply string) []string {
	return strings.FieldsFunc(reply, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
}

// joins reports whether by a command another was granted a hold beside the first's, whose lease was running.
func (m *overlap) joins(e *event) bool { return m.beside(e.op) && m.Header.Epoch+e.at < m.due() }

// beside reports whether an operation is an acquire by which another client was granted a hold that may exist beside the first's.
func (m *overlap) beside(op *history.Operation) bool {
	return op != nil && op.Op == history.Acquire && op.Outcome == history.OK && op.Client != m.first.Client && m.Header.Kind == history.RW &&
		!checker.Conflict(m.Header.Kind, false, m.first.Mode, op.Mode)
}

// loser returns the client that had what an event changed: the first's, or another that had written it, over the first's hold or beside it.
func (m *overlap) loser(p pairing, i int) string {
	n := p.first.node
	if m.Header.Kind != history.Mutex {
		wrote := n.writers(i)
		its := func(e *event) bool { return e.cmd.Client == m.first.Client }
		own := func(e *event) bool { return n.events[i].cmd != nil && e.cmd.Client == n.events[i].cmd.Client }
		if len(wrote) == 0 || slices.ContainsFunc(wrote, its) || m.Header.Kind != history.Semaphore && own(wrote[0]) {
			return m.first.Client
		}
		return wrote[0].cmd.Client
	}
	at := n.writer(i, n.events[i].changes...)
	if at < p.from() || !m.stands(p, at) {
		return m.first.Client
	}
	return n.events[at].cmd.Client
}

// shortened returns the command that moved the end of the first's lease to an earlier time, and the renewal that came too late because of it: without the
// command, the renewal finds the hold. A nil renewal means that the command did not matter.
func (m *overlap) shortened(p pairing, end int) (by int, renewal *event) {
	n := p.first.node
	key := n.events[end].changes[0].key
	for i := end + 1; i < n.by(m.seen); i++ {
		e := &n.events[i]
		if e.cmd == nil || e.cmd.Client != m.first.Client || e.op != nil && e.op.Op != history.Extend || e.open || e.cmd.Failed() || !slices.Contains(e.touched, key) {
			continue
		}
		for by := end - 1; by >= p.from(); by-- {
			if n.events[by].cmd != nil && n.events[by].hastens(key) && m.finds(&attempt{op: e.op, node: n, events: []int{i}, grant: i}, by, without{events: []int{by}}) {
				return by, e
			}
		}
		break // the client knows that its hold is gone
	}
	return 0, nil
}

// causeOf names the cause for a command.
func (m *overlap) causeOf(p pairing, i int) (rank, verdicts.Cause) {
	e, whose := &p.first.node.events[i], others
	if e.cmd.Client == m.first.Client {
		whose = own
		if e.cmd.Sent < m.first.Call || e.cmd.Sent < p.first.granting().cmd.Sent {
			whose = late
		}
	}
	acquires, extends := e.op != nil && e.op.Op == history.Acquire, e.op != nil && e.op.Op == history.Extend
	if e.cmd.Client == m.second.Client && acquires && m.overdue(p.first.node, i) {
		return byAcquire, verdicts.LateRequest
	}
	name := causeOfOwner[whose]
	if name == verdicts.MisUnlock && m.first.Mode == history.Shared && !extends {
		name = verdicts.ReaderEvicted
	}
	if acquires && whose == others { // it meant to take, not to free
		return byAcquire, name
	}
	return byFreeing, name
}

// overdue reports whether a node executed a command of an acquire when its client was done with the try that it belongs to.
func (r *run) overdue(n *node, i int) bool {
	e, over := &n.events[i], false
	for _, try := range r.tries(e.op, n) {
		if over = over || slices.Contains(try, i); over && !slices.Contains(try, i) {
			return n.events[try[0]].cmd.Sent < e.at
		}
	}
	return e.op.Return < e.at
}

// lease names the cause for the end of the first's lease at an instant.
func (m *overlap) lease(p pairing, at int64) conclusion {
	c := m.lapse(p, at)
	c.moved = m.movedEnd(p, at)
	return c
}

// movedEnd returns the commands that moved the end of the first's lease before it came.
func (m *overlap) movedEnd(p pairing, at int64) []Event {
	n, keys, to := p.first.node, p.second.keys(), p.first.node.by(at)
	for i := p.from(); i < to; i++ {
		if slices.ContainsFunc(n.events[i].changes, func(c change) bool { return c.after == nil && slices.Contains(keys, c.key) }) {
			to = i
		}
	}
	return n.moved(keys, p.from(), to)
}

// lapse names the cause for the end of the first's lease at an instant.
func (m *overlap) lapse(p pairing, at int64) conclusion {
	if late := m.renewedLate(p, at); late >= 0 {
		return m.madeAgain(p, late)
	}
	switch {
	case m.renews() && !m.hindered(p.first.time(), at): // nothing hindered the renewals
		return conclusion{name: verdicts.RenewalGap}
	case m.renewedInVain(p, at) != nil: // what else the client was told rests on a renewal that was none
		return conclusion{name: verdicts.RenewalGap}
	case m.crashed() && m.toldBy(m.seen) > m.seen: // its belief ended with the crash, and not by what it had been told
		return conclusion{name: verdicts.Overbelief}
	case m.until(m.first, m.seen) <= m.seen:
		return conclusion{name: verdicts.LeaseOverrun}
	}
	return conclusion{name: verdicts.Overbelief}
}

// crashed reports whether the first's client crashed before the violation.
func (m *overlap) crashed() bool {
	return len(m.confirmed(func(w *history.Window) bool {
		return w.Fault == faults.CrashClient && w.Client == m.first.Client && w.Start >= m.first.Call && w.Start <= m.seen
	})) > 0
}

// resumed replaces the fault that ended the first's hold by a later renewal, if without that renewal the client no longer believed in the hold when the
// violation happened or its work ended.
func (m *overlap) resumed(p pairing, f *finding) {
	late := m.renewedLate(p, p.second.time())
	if late < 0 || m.toldBy(f.node.events[late].cmd.Sent) >= min(m.seen, m.workedUntil(m.first)) {
		return
	}
	again := m.madeAgain(p, late)
	f.name, f.then, f.conclusion.more = again.name, again.then, again.more
}

// toldBy returns until when the first's client believed that it held, by what it had been told up to an instant. Where the record does not say when an
// acquire that may have waited was asked for, its lease counts from when the servers granted it.
func (m *overlap) toldBy(by int64) (until int64) {
	until = m.told(m.first)
	if m.first.ValidUntil == 0 && m.first.Asked == 0 {
		until = m.grantedAt(m.first) + m.Header.Lease - m.Header.Drift
	}
	if h := m.holdOf[m.first.ID]; h != nil {
		for i := range h.Extends {
			if op := &h.Extends[i]; op.Outcome == history.OK && op.Return <= by {
				until = max(until, m.told(op))
			}
		}
	}
	return until
}

// madeAgain concludes from a renewal after the end of the first's lease: it created the key again, or changed another's.
func (m *overlap) madeAgain(p pairing, late int) conclusion {
	e, did := &p.first.node.events[late], p.first.node.report(late, p.second.keys())
	c, then := conclusion{name: verdicts.MisUnlock}, sentence(" then changed it")
	switch {
	case slices.ContainsFunc(e.changes, change.made):
		c.name, then = verdicts.Resurrection, sentence(" then created it again")
	case did.HitAnothers():
		then = sentence(" then changed what was ", Name(did.Holder), "'s")
	}
	if e.op == nil || e.op != m.second { // an experiment on that renewal names it already
		c.then, c.more = sentence("; ", Name(e.cmd.Client), "'s renewal at ", Instant(e.at), then), []Event{did}
	}
	return c
}

// hindered reports whether a confirmed fault, of the first client or of a node that it asked, may have prevented the client from renewing.
func (m *overlap) hindered(from, to int64) bool {
	asked := func(index int) bool {
		return index < 0 || slices.ContainsFunc(m.nodes, func(n *node) bool { return n.index == index && len(n.byOp[m.first.ID]) > 0 })
	}
	return len(m.confirmed(func(w *history.Window) bool {
		kind, _ := faults.FindKind(w.Fault)
		elsewhere := kind.In == faults.InMessage && w.Node < 0 && m.answeredDuring(w)                // it met a request to the guarded store, and the lock's were answered
		hinders := kind.Does.Any(history.Hinders) || w.Fault == faults.SlowWork && !m.renewsAtWork() // a client that extends by hand does so between its work
		return hinders && !elsewhere && (w.Client == m.first.Client || w.Client == "" && asked(w.Node)) && w.Start <= to && w.Last() >= from
	})) > 0
}

// answeredDuring reports whether a command that the first client sent to the lock during a fault was answered during it.
func (m *overlap) answeredDuring(w *history.Window) bool {
	return slices.ContainsFunc(m.Commands, func(c history.Command) bool {
		return c.Client == m.first.Client && c.Node >= 0 && c.Sent >= w.Start && c.Replied != 0 && c.Replied <= w.Last()
	})
}

// renewedInVain returns the first client's last extend that succeeded before its lease ended although no node renewed the lease; nil: none.
func (m *overlap) renewedInVain(p pairing, ended int64) (vain *history.Operation) {
	h, keys := m.holdOf[m.first.ID], p.second.keys()
	if h == nil {
		return nil
	}
	for i := range h.Extends {
		op := &h.Extends[i]
		if op.Outcome == history.OK && op.Return <= ended && m.told(op) > ended+grain && !slices.ContainsFunc(m.nodes, func(n *node) bool {
			return slices.ContainsFunc(n.byOp[op.ID], func(i int) bool { return changesAny(&n.events[i], keys) })
		}) {
			vain = op
		}
	}
	return vain
}

// renewedLate returns the command by which the client believed in the hold again: of an extend that succeeded after the lease had ended, before the
// violation and before the client's next grant; -1: none.
func (m *overlap) renewedLate(p pairing, ended int64) int {
	n, keys := p.first.node, p.second.keys()
	for i := max(p.from(), n.by(ended)); i < n.by(m.seen); i++ {
		e := &n.events[i]
		if e.op != nil && e.op.Client == m.first.Client && e.op.Op == history.Acquire && e.op.ID != m.first.ID && changesAny(e, keys) {
			return -1
		}
		if e.cmd != nil && e.cmd.Client == m.first.Client && m.claims(p, e) && changesAny(e, keys) {
			return i
		}
	}
	return -1
}

// claims reports whether a command made its client believe in a hold: that of an extend that succeeded, a renewal in the background that wrote more than
// an expiry, or one beside a release that made again what the first's grant had. A background renewal of another's hold that only moves its expiry reports
// nothing; nor does a release that makes something else, or moves it from another key.
func (m *overlap) claims(p pairing, e *event) bool {
	switch {
	case e.op == nil:
		return slices.ContainsFunc(e.changes, func(c change) bool { return !c.renewed() })
	case e.op.Op == history.Release:
		moves := slices.ContainsFunc(e.changes, change.freed)
		return !moves && slices.ContainsFunc(e.changes, func(c change) bool { return c.made() && m.madeBefore(p, c) })
	}
	return e.op.Op == history.Extend && e.op.Outcome == history.OK
}

// madeBefore reports whether a change makes a part of a key that the first's grant had set, with the same data if the key has no other part.
func (m *overlap) madeBefore(p pairing, c change) bool {
	return slices.ContainsFunc(p.first.granting().changes, func(was change) bool {
		return was.after != nil && was.meets(c) && (was.after.Text == "" || was.after.sameData(c.after))
	})
}

// renews reports whether clients of the lock renew leases by themselves.
func (r *run) renews() bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.events, func(e event) bool {
			return e.cmd != nil && (e.op == nil || e.op.Op == history.Extend) && slices.ContainsFunc(e.changes, change.renewed)
		})
	})
}

// renewsAtWork reports whether leases are renewed while clients work: in the background, or by extends during a slow work of their clients.
func (r *run) renewsAtWork() bool {
	slow := r.confirmed(func(w *history.Window) bool { return w.Fault == faults.SlowWork })
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.events, func(e event) bool {
			return e.cmd != nil && e.op == nil && slices.ContainsFunc(e.changes, change.renewed)
		})
	}) || slices.ContainsFunc(r.Ops, func(op history.Operation) bool {
		return op.Op == history.Extend && slices.ContainsFunc(slow, func(w history.Window) bool { return w.Client == op.Client && w.Start < op.Call && op.Call < w.Last() })
	})
}

// words describes an event and when it happened.
func words(e *event) statement {
	if e.effect != nil {
		return wordsAt(e, []int{e.effect.Node})
	}
	return wordsAt(e, nil)
}

// wordsAt describes an event, the nodes at which it happened, and when it did at the first.
func wordsAt(e *event, nodes []int) statement {
	when := sentence(inWords(nodes), " at ", Instant(e.at))
	switch {
	case e.cmd != nil:
		return sentence(Name(e.cmd.Client), "'s ", called(e.cmd), when)
	case e.effect != nil:
		what := map[string]string{history.Restarted: "the restart", history.Promoted: "the promotion of the replica", history.ClockSet: "the jump of the clock",
			history.ClockRate: "the drift of the clock", history.Deleted: "the deletion by an operator", history.Evicted: "the eviction"}[e.effect.What]
		return sentence(what, when)
	}
	return sentence("the expiry of ", Key(e.changes[0].key), when)
}

// inWords names nodes, as in " at nodes 0, 1 and 2".
func inWords(nodes []int) string {
	switch n := len(nodes); n {
	case 0:
		return ""
	case 1:
		return " at node " + strconv.Itoa(nodes[0])
	default:
		var names []string
		for _, i := range nodes {
			names = append(names, strconv.Itoa(i))
		}
		return " at nodes " + strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// called returns the name of a command, as its client sent it.
func called(c *history.Command) statement {
	if c.Script != "" && len(c.Args) > 0 {
		return sentence(Name(c.Name), " ", Name(c.Args[0]))
	}
	return sentence(Name(c.Name))
}
