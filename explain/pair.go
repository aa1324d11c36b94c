package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/verdicts"
)

// finding is an experiment that changed the outcome: what was left out, and the cause that names it.
type finding struct {
	conclusion
	node     *node
	event    int
	fault    int   // the fault whose effect the event is
	right    int64 // when the same fault set the clock right again, before the second was granted; 0: it did not
	places   []int // the nodes at which the same was left out, if the lock has several
	earlier  bool  // the event came before the first hold
	rank     rank
	more     statement // what the text adds to the event
	evidence Event
}

// text names what was left out.
func (f *finding) text() statement {
	when := wordsAt(&f.node.events[f.event], f.places)
	if f.right != 0 {
		when = sentence(when, " until ", Instant(f.right))
	}
	return sentence(when, f.more)
}

// because returns the answer for a finding; effect is what would have happened without it.
func (f finding) because(effect ...any) Answer {
	return f.answer(sentence("without ", f.text(), ", ", sentence(effect...)), f.evidence)
}

// rank orders possible causes: actions of others come before those of the two clients, and a fault that changed nothing comes last.
type rank int

const (
	byFault rank = iota
	byTime
	byFreeing
	byAcquire
	inVain
)

// overlap is two holds of which the second was granted although the first existed.
type overlap struct {
	*run
	first, second *history.Operation // their acquires
	seen          int64              // the instant of the violation: what the first learnt later does not count
	depth         int
}

// deepest bounds how many earlier grants a cause is traced through.
const deepest = 16

// met explains why two holds overlap.
func (r *run) met(a, b *history.Operation, seen int64) Answer {
	return r.meet(a, b, max(seen, b.Return), deepest)
}

func (r *run) meet(a, b *history.Operation, seen int64, depth int) Answer {
	if r.failed || a.ID == b.ID {
		return Answer{}
	}
	key := [3]uint64{a.ID, b.ID, uint64(seen)}
	if answer, ok := r.pairs[key]; ok {
		return answer
	}
	r.pairs[key] = Answer{} // ends recursion
	m := &overlap{run: r, first: a, second: b, seen: seen, depth: depth}
	answer := m.explain()
	r.pairs[key] = answer
	return answer
}

// explain does the experiments on the nodes to which both clients sent requests.
func (m *overlap) explain() Answer {
	first, second := m.ballots(m.first), m.ballots(m.second)
	if len(first) == 0 || len(second) == 0 {
		return m.withoutCommands(first, second)
	}
	if few := m.fewVotes(first, second); few.Cause != "" {
		return few
	}
	pairs := common(first, second)
	if len(pairs) == 0 {
		return Answer{}
	}
	if pairs[0].second.first() < pairs[0].first.first() { // the node granted them in the reverse order
		m.first, m.second = m.second, m.first
		for i := range pairs {
			pairs[i].first, pairs[i].second = pairs[i].second, pairs[i].first
		}
	}
	if slices.ContainsFunc(pairs, pairing.doubtful) {
		return Answer{}
	}
	spare := max(m.grants(m.ballots(m.second))-m.quorum(), 0) // votes that the second could lose
	return firstOf(
		func() Answer { return m.byClocks(pairs, spare) },
		func() Answer { return m.answer(m.single(pairs, spare)) },
		func() Answer { return m.outlived(pairs, spare) },
		func() Answer { return m.answer(m.together(pairs, spare)) },
		func() Answer { return m.unexplained(pairs) })
}

// withoutCommands returns the answer for a grant of which no request is known. A client that held the lock already may have re-entered by its own count.
func (m *overlap) withoutCommands(first, second []*attempt) Answer {
	op := m.second
	if len(second) > 0 {
		op = m.first
	}
	if m.sent(op) {
		return Answer{}
	}
	outer := m.heldBefore(op)
	if outer != nil && m.depth > 0 && m.kept(outer, op.Call) > op.Return { // as far as the client knew, the outer hold still existed
		if op == m.second {
			return m.meet(m.first, outer, m.seen, m.depth-1)
		}
		return m.meet(outer, m.second, m.seen, m.depth-1)
	}
	if m.Header.Votes {
		return m.eroded(op, 0)
	}
	return m.noCommand(op)
}

// noCommand returns the answer for a grant without a request to a server: by what the client had kept of an earlier grant, if it had one.
func (r *run) noCommand(op *history.Operation) Answer {
	cause := verdicts.DoubleGrant
	if slices.ContainsFunc(r.Ops, func(o history.Operation) bool {
		return o.Client == op.Client && o.Key == op.Key && o.Op == history.Acquire && o.Outcome == history.OK && o.Return <= op.Call && o.ID != op.ID && r.sent(&o)
	}) {
		cause = verdicts.StaleReentry
	}
	return because(cause, sentence(Name(op.Client), " sent no command: no server could have refused it"), Event{At: op.Return, Op: op, NoCommand: true})
}

// sent reports whether a client sent any command during an operation.
func (r *run) sent(op *history.Operation) bool { return r.senders[op.ID] }

// grants counts the nodes that granted.
func (r *run) grants(all []*attempt) (n int) {
	for _, a := range all {
		if a.grant >= 0 {
			n++
		}
	}
	return n
}

// unread returns attempts by which nodes granted an acquire, and whose replies came after it had returned.
func (r *run) unread(op *history.Operation) (out []*attempt) {
	for _, node := range r.nodes {
		for _, i := range node.byOp[op.ID] {
			e := &node.events[i]
			refused, _ := r.seen.refuse(shapeOf(e.cmd), e.cmd.Reply)
			if e.cmd.Replied > op.Return && e.cmd.Sent <= op.Return && r.polled[shapeOf(e.cmd)] && len(keysOf(e.changes, true)) > 0 && !refused {
				out = append(out, &attempt{op: op, node: node, events: []int{i}, grant: i})
			}
		}
	}
	return out
}

// ballots returns the attempts of an acquire, and the votes whose replies came after its client had enough: without one that it had read it would have
// counted those.
func (m *overlap) ballots(op *history.Operation) []*attempt {
	all := m.attempts(op)
	if m.votes > 1 {
		all = append(all, m.unread(op)...)
	}
	return all
}

// fewVotes explains a grant by fewer nodes than a majority.
func (m *overlap) fewVotes(first, second []*attempt) Answer {
	if m.votes == 1 {
		return Answer{}
	}
	for _, one := range []struct {
		op  *history.Operation
		got int
	}{{m.first, m.grants(first)}, {m.second, m.grants(second)}} {
		if one.got < m.quorum() {
			return m.eroded(one.op, one.got)
		}
	}
	return Answer{}
}

// eroded returns the answer for a grant by some of the nodes, fewer than a majority.
func (m *overlap) eroded(op *history.Operation, got int) Answer {
	return because(verdicts.QuorumErosion, sentence(Name(op.Client), fmt.Sprintf(" had the votes of %d of %d nodes: with %d needed it would have been refused", got, m.votes, m.quorum())),
		Event{At: op.Return, Op: op, Granted: true, Votes: [2]int{got, m.votes}})
}

// candidates returns the events between the two grants that changed the second's keys, or lost the node's data, which may have been lost before, and
// all changes of the node's clock, even earlier ones. It excludes the first's acquire, which created its hold, unless a command of it took that back,
// the second's last attempt and, for a semaphore, what took no permit or only one that its own client had.
func (m *overlap) candidates(p pairing) []int {
	n := p.first.node
	return slices.DeleteFunc(m.between(p), func(i int) bool {
		return m.Header.Kind == history.Semaphore && (m.givesBack(n, i) || n.events[i].adds())
	})
}

// between returns the same for a semaphore with the permits of others that were given back and taken.
func (m *overlap) between(p pairing) (out []int) {
	n, keys := p.first.node, p.second.keys()
	if m.votes == 1 {
		for _, i := range n.byOp[m.second.ID] { // what an earlier try had read may have let it take the hold
			keys = append(keys, n.events[i].touched...)
		}
	}
	for i := 0; i < p.second.grant; i++ {
		e := &n.events[i]
		if e.setsClock() && m.corrects(n, i) {
			continue
		}
		clock := e.setsClock()
		if i < p.from() && !clock { // an earlier change of the clock may have ended the first's lease
			continue
		}
		if slices.Contains(p.second.events, i) || !clock && !e.resets() && !changesAny(e, keys) || e.op != nil && e.op.ID == m.first.ID && i <= p.first.grant && !p.first.takenBackBy(e) {
			continue
		}
		if m.prolongs(e) || m.undoneBy(n, i, p.second.grant) { // it keeps the hold, or is left out with what undid it
			continue
		}
		if m.reenters(e) { // the server keeps one count for both, and the inner release, which stays, lowers it
			continue
		}
		if e.ended() && e.changes[0].after != nil { // a lease that ended later than it could have
			continue
		}
		out = append(out, i)
	}
	return out
}

// corrects reports whether an event set right a clock that the same fault had made wrong: it is left out with what it corrected, and not alone.
func (m *overlap) corrects(n *node, i int) bool {
	return m.clockChanges(n, i)[0] < i
}

// prolongs reports whether an event is a renewal by the first's client that only moved the ends of leases to later times.
func (m *overlap) prolongs(e *event) bool {
	return e.cmd != nil && e.cmd.Client == m.first.Client && len(e.changes) > 0 && !slices.ContainsFunc(e.changes, func(c change) bool {
		return !c.renewed() || e.hastens(c.key)
	})
}

// undoneBy reports whether a later command, before the i-th event's successor at the given index, undid an event as part of the same try.
func (m *overlap) undoneBy(n *node, i, end int) bool {
	return slices.ContainsFunc(m.whole(n, i), func(j int) bool { return j > i && j < end })
}

// reenters reports whether an event is a re-entry of the first's client within its hold that did not shorten its lease.
func (m *overlap) reenters(e *event) bool {
	return m.Header.Kind == history.Reentrant && e.op != nil && e.op.Op == history.Acquire && e.op.Client == m.first.Client && slices.Contains(m.outer(e.op), m.first) &&
		!slices.ContainsFunc(e.touched, e.hastens)
}

// lacks reports whether a node refuses the second without what is left out.
func (m *overlap) lacks(p pairing, from int, left without) bool {
	return !m.granted(p.second, from, left)
}

// single leaves out each event alone. An event on one of several nodes removes one vote.
func (m *overlap) single(pairs []pairing, spare int) (found []finding) {
	if spare > 0 {
		return nil
	}
	for _, p := range pairs {
		for _, i := range m.candidates(p) {
			if m.joins(&p.first.node.events[i]) { // it took nothing away, though what its client did later may have
				continue
			}
			switch {
			case p.first.node.events[i].setsClock() && m.leaseEnd(p, p.second.grant)+m.Header.Drift+grain < p.second.time(): // that is over by a right clock
			case m.lacks(p, p.since(i), without{events: []int{i}}) && m.stands(p, i) && m.owned(p, i, 0):
				found = append(found, m.finding(p, i))
			}
		}
	}
	clock := func(f finding) bool { return f.node.events[f.event].setsClock() }
	if slices.ContainsFunc(found, clock) { // that says more than the end of a lease which it made early
		found = slices.DeleteFunc(found, func(f finding) bool { return f.rank == byFault && f.node.events[f.event].ended() })
	}
	return eachAlone(found)
}

// eachAlone adds to the text of a fault the other faults, of other kinds, without each of which the second is refused too.
func eachAlone(found []finding) []finding {
	out := slices.Clone(found)
	for i := range out {
		named := []verdicts.Cause{out[i].name}
		for _, o := range found {
			if out[i].rank == byFault && o.rank == byFault && !slices.Contains(named, o.name) {
				out[i].more, named = sentence(out[i].more, ", or without ", o.text()), append(named, o.name)
			}
		}
	}
	return out
}

// stands reports whether the first is granted without an event. An event that the first's grant needs, such as the release that handed it the lock,
// cannot have ended its hold.
func (m *overlap) stands(p pairing, i int) bool {
	return m.whole(p.first.node, i)[0] > p.first.grant || m.granted(p.first, p.since(i), without{events: []int{i}})
}

// others returns the candidates that may be left out together. It drops those that the first's grant needs, and the end of another client's hold that
// began before the first: without that end, the other hold would refuse the second. A hold that began later is left out together with its grant. The
// node's clock stops at an instant; 0: never.
func (m *overlap) others(p pairing, stop int64) []int {
	return slices.DeleteFunc(m.candidates(p), func(i int) bool {
		return !m.stands(p, i) || !m.beganSince(p, i) && m.lacks(p, p.since(i), without{events: []int{i}, stop: stop}) && !m.owned(p, i, stop)
	})
}

// together leaves out all candidates, and then puts back those that make no difference. The second loses as many votes as it needs to be refused: those
// that the fewest events gave it.
func (m *overlap) together(pairs []pairing, spare int) []finding {
	var lost [][]finding
	for _, p := range pairs {
		all := m.others(p, 0)
		refused := func() bool { return len(all) > 0 && m.refusedWithout(p, all, all, 0) }
		if !refused() {
			if all = slices.DeleteFunc(all, p.first.node.grants); !refused() { // a permit that was taken in between may be the one that is lacking
				continue
			}
		}
		var one []finding
		for _, i := range m.tookAway(p, all) {
			one = append(one, m.finding(p, i))
		}
		lost = append(lost, one)
	}
	if len(lost) <= spare {
		return nil
	}
	slices.SortStableFunc(lost, func(a, b []finding) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(nearest(a).rank, nearest(b).rank))
	})
	return jointly(slices.Concat(lost[:spare+1]...))
}

// grants reports whether an event is a command by which an acquire was granted.
func (n *node) grants(i int) bool {
	op := n.events[i].op
	return op != nil && op.Op == history.Acquire && op.Outcome == history.OK
}

// tookAway returns the fewest of some events without which the second is refused; not those by which others joined the first, if there are others.
func (m *overlap) tookAway(p pairing, all []int) []int {
	joins := func(i int) bool { return m.joins(&p.first.node.events[i]) }
	few := m.fewestOf(p, all)
	if took := slices.DeleteFunc(slices.Clone(few), joins); len(took) > 0 {
		return took
	}
	if rest := slices.DeleteFunc(slices.Clone(all), joins); len(rest) > 0 && m.lacks(p, p.since(rest[0]), without{events: rest}) {
		return m.fewestOf(p, rest)
	}
	return few
}

// fewestOf returns the fewest of some events without which the second is refused. Grants that without the others would not have been made are not among them.
func (m *overlap) fewestOf(p pairing, all []int) []int {
	few := fewest(all, func(left []int) bool { return m.refusedWithout(p, all, left, 0) })
	for _, i := range slices.Clone(few) {
		rest := slices.DeleteFunc(slices.Clone(few), func(j int) bool { return j == i })
		if len(rest) > 0 && m.refusedToo(p.first.node, i, rest) && m.lacks(p, p.since(rest[0]), without{events: rest}) {
			few = rest
		}
	}
	return few
}

// refusedToo reports whether an event is part of a grant that a node does not make without some other events.
func (m *overlap) refusedToo(n *node, i int, left []int) bool {
	op := n.events[i].op
	return op != nil && op.Op == history.Acquire && slices.ContainsFunc(m.attempts(op), func(a *attempt) bool {
		return a.node == n && slices.Contains(a.events, i) && !m.granted(a, left[0], without{events: left})
	})
}

// refusedWithout reports whether the second is refused without some of several events. The hold of another client that they ended would refuse it in place
// of the first's: its grant is left out, too, and must be among those if it is among the several. The node's clock stops at an instant; 0: never.
func (m *overlap) refusedWithout(p pairing, all, left []int, stop int64) bool {
	n, from := p.first.node, left[0]
	grants := map[uint64][]int{} // of the several, by acquire
	for _, i := range all {
		if op := n.events[i].op; op != nil && op.Op == history.Acquire {
			grants[op.ID] = append(grants[op.ID], i)
		}
	}
	var ops []uint64
	for _, i := range all {
		if op := n.events[i].op; op != nil && op.Op == history.Acquire {
			continue
		}
		acquire, asked := m.endedHold(p, i)
		switch {
		case slices.ContainsFunc(grants[acquire], func(j int) bool { return !slices.Contains(left, j) }):
			return false
		case len(grants[acquire]) == 0 && slices.Contains(left, i) && asked >= 0 && acquire != m.first.ID && acquire != m.second.ID:
			ops, from = append(ops, acquire), min(from, asked)
		}
	}
	if stop != 0 {
		return m.lacks(p, p.from(), without{events: left, ops: ops, stop: stop})
	}
	return m.lacks(p, p.since(from), without{events: left, ops: ops})
}

// jointly adds to the text of each finding what was left out with it: of more than five others the first four by name. What is the same at several nodes
// is named once.
func jointly(found []finding) (out []finding) {
	found = merged(found)
	named := 4
	if len(found)-1 == named+1 {
		named++
	}
	for i, f := range found {
		var with []statement
		for j := range found {
			if j != i && len(with) < named {
				with = append(with, found[j].text())
			}
		}
		if rest := len(found) - 1 - len(with); rest > 0 {
			with = append(with, sentence(strconv.Itoa(rest), " other events"))
		}
		for j, s := range with {
			link := ", "
			if j == len(with)-1 {
				link = " and "
			}
			f.more = sentence(f.more, link, s)
		}
		out = append(out, f)
	}
	return out
}

// merged makes one of findings that are the same at several nodes.
func merged(found []finding) (out []finding) {
	for _, f := range found {
		at := slices.IndexFunc(out, func(o finding) bool { return o.same(&f) })
		if at < 0 {
			out = append(out, f)
			continue
		}
		out[at].places = slices.Compact(slices.Sorted(slices.Values(slices.Concat(out[at].places, f.places))))
	}
	return out
}

// same reports whether two findings are effects of one fault, commands of one kind of one operation, or the ends of one lease, at two nodes.
func (f *finding) same(o *finding) bool {
	a, b := &f.node.events[f.event], &o.node.events[o.event]
	switch {
	case f.node == o.node && f.event == o.event: // by two keys of one node
		return true
	case f.node == o.node || len(f.more) > 0 || len(o.more) > 0:
		return false
	case a.effect != nil:
		return b.effect != nil && a.effect.What == b.effect.What && f.fault == o.fault
	case a.cmd != nil:
		return b.cmd != nil && a.op != nil && a.op == b.op && a.asks() == b.asks()
	}
	return b.ended() && a.changes[0].key == b.changes[0].key
}

// listed joins statements as "a, b and c".
func listed(all []statement) statement {
	out := all[0]
	for i, s := range all[1:] {
		link := ", "
		if i == len(all)-2 {
			link = " and "
		}
		out = sentence(out, link, s)
	}
	return out
}

// fewest returns those of a set that must be left out for an experiment to succeed.
func fewest[T any](all []T, succeeds func(left []T) bool) []T {
	const most = 64
	for i := min(len(all), most) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(all), i, i+1); len(fewer) > 0 && succeeds(fewer) {
			all = fewer
		}
	}
	return all
}

// jointlyOf returns the fewest of some events that succeed together, each with what was left out with it; nil if all of them do not.
func (m *overlap) jointlyOf(p pairing, all []int, succeeds func([]int) bool) []finding {
	if !succeeds(all) {
		return nil
	}
	var found []finding
	for _, i := range fewest(all, succeeds) {
		found = append(found, m.finding(p, i))
	}
	return jointly(found)
}

// unexplained returns the answer if no event between the two made the difference: the lease ended by the clock of the server or of the second client, or
// the grant ignored the hold.
func (m *overlap) unexplained(pairs []pairing) Answer {
	if a := m.neverMade(m.first); a.Cause != "" {
		return a
	}
	for _, p := range pairs {
		all, who, several := m.others(p, 0), any(Name(m.second.Client)), m.Header.Kind == history.Semaphore
		if several { // the other holders have to stay, and may have removed by their clocks what the first had left
			all, who = nil, "all clients"
		}
		did := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return p.first.node.events[i].ended() })
		over, stopped := m.over(p), []int(nil)
		if over {
			stopped = m.others(p, p.first.time())
		}
		still := p.first.granting()
		for _, left := range []without{{still: still, all: several}, {still: still, all: true}, {events: did, still: still, all: several}} {
			if m.lacks(p, min(p.from(), p.to()), left) {
				if left.all {
					who = "all clients"
				}
				return m.byClientClock(p, left, who)
			}
		}
		if over && m.lacks(p, min(p.from(), p.to()), without{events: stopped, still: still, all: several, stop: p.first.time()}) {
			return m.expired(p, p.second.time(), "had hardly any time passed by the clocks of the server and of ", who)
		}
		if answer := m.byReadClock(p); answer.Cause != "" {
			return answer
		}
	}
	p := pairs[0]
	switch {
	case m.Header.Kind == history.Semaphore:
		return m.overfilled(p)
	case !m.marked(p): // the first left nothing for the second to find
		return Answer{}
	}
	when := "even right after "
	if p.to() >= p.from() && !m.grantedAfter(p, p.first.first()) {
		if a := m.alreadyWrong(p); a.Cause != "" {
			return a
		}
		if m.grantedAfter(p, p.first.first()-1) && m.overwritten(p) { // the first's grant would have refused it
			return m.mistaken(p)
		}
		when = "if only other holds had ended since "
	}
	after := sentence(when, Name(m.first.Client), "'s grant at ", Instant(p.first.time()))
	why := sentence(" would have been granted ", after, ": it does not check for that hold")
	switch {
	case m.setsNothing(p.second):
		why = sentence(" set nothing, and ", Name(m.second.Client), " took that for a grant")
	case when == "even right after " && m.wouldSetNothing(p):
		why = sentence(" would have set nothing ", after, ", and ", Name(m.second.Client), " takes that for a grant")
	}
	return because(verdicts.DoubleGrant, sentence(words(p.second.granting()), why), p.first.reported(), p.second.reported())
}

// grantedAfter reports whether the second is granted right after an event about the first's grant, by clocks that stand still.
func (m *overlap) grantedAfter(p pairing, i int) bool {
	n := p.first.node
	m.m.load(n.state(i+1), p.first.granting().clock)
	m.m.stop = p.first.time()
	for _, j := range p.second.events {
		e := &n.events[j]
		again := m.timed(e.cmd, m.asks.of(e.cmd), func(arg string) int64 { return m.passed(e.cmd, arg, p.first.granting().cmd) })
		if reply, changes, ok := m.send(e.cmd, e.at, again); ok && m.refuses(p.second, e, reply, changes) {
			return false
		}
	}
	return true
}

// overwritten reports whether something changed what the first's grant had set before the second was granted.
func (m *overlap) overwritten(p pairing) bool {
	return slices.ContainsFunc(p.inBetween(), func(e event) bool {
		return slices.ContainsFunc(e.changes, func(c change) bool { return !c.renewed() && slices.ContainsFunc(p.first.granting().changes, c.meets) })
	})
}

// alreadyWrong explains a grant by a fault before the first's grant, which had left the data so that they did not show the first's hold: without it the first
// is granted, and the second is refused.
func (m *overlap) alreadyWrong(p pairing) Answer {
	n := p.first.node
	for i := p.first.events[0] - 1; i >= 0; i-- {
		left := without{events: []int{i}}
		if e := &n.events[i]; (e.deletes() || e.resets()) && changesAny(e, p.second.keys()) && m.granted(p.first, i, left) && m.lacks(p, i, left) {
			return because(faultNames[e.effect.What], sentence("without ", words(e), ", ", Name(m.second.Client), " would have been refused"), e.reported("", p.second.keys()))
		}
	}
	return Answer{}
}

// mistaken returns the answer for a grant that only the ends of other holds made possible.
func (m *overlap) mistaken(p pairing) Answer {
	return because(verdicts.DoubleGrant, sentence(words(p.second.granting()), " would have been refused right after ", Name(m.first.Client), "'s grant at ", Instant(p.first.time()),
		"; since then only other holds had ended, and it takes that for the end of that hold"), p.first.reported(), p.second.reported())
}

// overfilled explains a grant by a semaphore of which all permits were taken, as the second's client could have seen, or would have been without some
// events or with a clock that stands still.
func (m *overlap) overfilled(p pairing) Answer {
	permits := checker.Permits(m.Header)
	full := func(left without) bool { return m.taken(p, left) >= permits }
	taken, were := "the permit", " was taken"
	if permits > 1 {
		taken, were = fmt.Sprintf("all %d permits", permits), " were taken"
	}
	all := m.others(p, 0)
	since, _ := slices.BinarySearch(all, p.from())
	all = slices.Concat(all[since:], all[:since]) // an earlier change of the clock is named only if need be
	would := sentence(taken, " would have been taken when ", Name(m.second.Client), " was granted")
	if full(without{}) {
		return because(verdicts.DoubleGrant, sentence(words(p.second.granting()), " was granted although ", taken, were), p.first.reported(), p.second.reported())
	}
	if len(all) > 0 {
		if found := m.jointlyOf(p, all, func(left []int) bool { return full(without{events: left}) }); len(found) > 0 {
			return nearest(found).because(would)
		}
	}
	if m.over(p) && full(without{stop: p.first.time()}) {
		return m.lease(p, p.second.time()).answer(sentence("had the lease of ", Name(m.first.Client), " not ended, ", would))
	}
	return Answer{}
}

// taken returns how many permits others have after the second's grant when something is left out: the parts of a key that its operation did not make.
func (m *overlap) taken(p pairing, left without) (most int) {
	made := madeParts{}                                 // by the second
	for _, i := range p.second.node.byOp[m.second.ID] { // an earlier try
		made.add(p.second.node.events[i].changes)
	}
	from := p.from()
	if len(left.events) > 0 {
		from = min(from, p.since(slices.Min(left.events)))
	}
	m.newReplay(p.second, from, left).again(p.second, func(_ *event, _ string, changes []change) bool {
		made.add(changes)
		return true
	})
	for _, key := range p.second.keys() {
		others := 0
		for part := range m.m.values[key].parts() {
			if !made[keyPart{key, part}] {
				others++
			}
		}
		most = max(most, others)
	}
	return most
}

// wouldSetNothing reports whether the command that granted the second changes nothing while the first's hold is there, so that its client would ignore a
// refusal.
func (m *overlap) wouldSetNothing(p pairing) bool {
	e := p.second.granting()
	again := m.asks.of(e.cmd)
	if again == nil || !resp.IsWrite(e.cmd.Name) {
		return false
	}
	m.m.load(p.first.node.state(p.from()), e.clock)
	reply, changes, _ := m.m.do(again, p.first.time())
	return len(changes) == 0 && m.m.same(e.cmd, answerOf(e.cmd, reply)) && m.m.idle(e, again, nil)
}

// setsNothing reports whether the reply to the command that granted proves that it changed nothing, so that the client ignored a refusal.
func (r *run) setsNothing(a *attempt) bool {
	e := a.granting()
	again := r.asks.of(e.cmd)
	if again == nil || e.open || len(e.changes) > 0 || !r.asks.writes(e.cmd) {
		return false
	}
	r.m.load(a.node.state(a.first()), e.clock)
	return r.m.idle(e, again, nil)
}

// marked reports whether the node, after it had granted the first, held any of the second's keys.
func (m *overlap) marked(p pairing) bool {
	values := p.first.node.state(min(p.first.grant+1, p.second.grant))
	return slices.ContainsFunc(p.second.keys(), func(key string) bool { return values[key] != nil })
}

// answer returns the answer for the nearest finding. If that is a grant in between that took the first's hold away, it explains that grant.
func (m *overlap) answer(found []finding) Answer {
	if len(found) == 0 {
		return Answer{}
	}
	f := nearest(found)
	op := f.node.events[f.event].op
	if f.rank != byAcquire || !m.leadsOn(op, f) {
		return f.because(Name(m.second.Client), " would have been refused")
	}
	answer := m.meet(m.first, op, op.Return, m.depth-1)
	answer.Experiment = sentence(answer.Experiment, ", and then ", Name(m.second.Client), " as well")
	return answer
}

// leadsOn reports whether a finding is the grant of another client, which is explained in turn.
func (m *overlap) leadsOn(op *history.Operation, f finding) bool {
	return op != nil && op.Outcome == history.OK && m.depth > 0 && m.grantedWith(op, f) && op.Client != m.first.Client && op.Client != m.second.Client
}

// grantedWith reports whether the command of a finding belongs to the try by which its acquire was granted.
func (m *overlap) grantedWith(op *history.Operation, f finding) bool {
	return slices.ContainsFunc(m.attempts(op), func(a *attempt) bool { return a.node == f.node && slices.Contains(a.events, f.event) })
}

// nearest returns the finding to report: by rank, then by time, changes of the clock before the hold last. A command that moved the end of a lease to an
// earlier time replaces that end, and of a release or an extend the last command replaces those that led to it.
func nearest(found []finding) finding {
	var left []finding
	for _, f := range found {
		e := &f.node.events[f.event]
		hastened := e.ended() && slices.ContainsFunc(found, func(o finding) bool {
			return o.node == f.node && o.event < f.event && o.node.events[o.event].hastens(e.changes[0].key)
		})
		led := e.op != nil && e.op.Op != history.Acquire && slices.ContainsFunc(found, func(o finding) bool {
			return o.node == f.node && o.event > f.event && o.node.events[o.event].op == e.op
		})
		if !hastened && !led {
			left = append(left, f)
		}
	}
	return slices.MinFunc(left, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), earlierLast(a, b), cmp.Compare(a.node.events[a.event].at, b.node.events[b.event].at))
	})
}

// earlierLast puts what came before the hold behind what came since.
func earlierLast(a, b finding) int {
	switch {
	case a.earlier == b.earlier:
		return 0
	case a.earlier:
		return 1
	}
	return -1
}

// hastens reports whether an event moved the expiry of a key to an earlier time.
func (e *event) hastens(key string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool {
		return c.key == key && c.before != nil && c.after != nil && c.after.Expires != 0 && (c.before.Expires == 0 || c.after.Expires < c.before.Expires)
	})
}
