package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// finding is an experiment that had an effect: what was left out, and its name.
type finding struct {
	node  *node
	event int // -1: the votes, or nothing
	rank  rank
	name  verdicts.Cause
	text  Sentence
	told  Event
}

// rank orders possible causes: what others did comes before what the two clients did.
type rank int

const (
	byFault rank = iota
	byTime
	byFreeing
	byAcquire
)

// meeting is two holds of which the second was granted although the first existed.
type meeting struct {
	*run
	first, second *history.Operation // their acquires
	seen          int64              // when the harm was done: only what the first knew by then counts
	depth         int
}

// deepest bounds how many grants back a cause is followed.
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
	m := &meeting{run: r, first: a, second: b, seen: seen, depth: depth}
	answer := m.explain()
	r.pairs[key] = answer
	return answer
}

// explain does the experiments on the nodes that both clients asked.
func (m *meeting) explain() Answer {
	first, second := m.attempts(m.first), m.attempts(m.second)
	if len(first) == 0 || len(second) == 0 {
		return m.unasked(first, second)
	}
	if few := m.fewVotes(first, second); few.Causes != nil {
		return few
	}
	pairs := common(first, second)
	if len(pairs) == 0 {
		return Answer{}
	}
	if pairs[0].second.first() < pairs[0].first.first() { // the node granted in the reverse order of the replies
		m.first, m.second = m.second, m.first
		for i := range pairs {
			pairs[i].first, pairs[i].second = pairs[i].second, pairs[i].first
		}
	}
	if slices.ContainsFunc(pairs, pairing.doubtful) {
		return Answer{}
	}
	spare := m.grants(m.attempts(m.second)) - m.quorum() // votes that the second could lose
	found := m.single(pairs, spare)
	if len(found) == 0 {
		if answer := m.outlived(pairs, spare); answer.Causes != nil {
			return answer
		}
		found = m.together(pairs, spare)
	}
	if len(found) == 0 {
		return m.unexplained(pairs)
	}
	return m.answer(found)
}

// unasked returns the answer for a grant without recorded commands: if its client held the lock already, it re-entered by its own count.
func (m *meeting) unasked(first, second []*attempt) Answer {
	op := m.second
	if len(second) > 0 {
		op = m.first
	}
	outer := m.heldBefore(op)
	if len(first) == 0 && len(second) == 0 && outer == nil || m.sent(op) {
		return Answer{}
	}
	if outer != nil && m.depth > 0 && m.kept(outer, op.Call) > op.Return { // as far as the client knew, the outer hold still existed
		if op == m.second {
			return m.meet(m.first, outer, m.seen, m.depth-1)
		}
		return m.meet(outer, m.second, m.seen, m.depth-1)
	}
	return noCommand(op)
}

// noCommand returns the answer for a grant for which no server was asked.
func noCommand(op *history.Operation) Answer {
	return because(verdicts.StaleReentry, sentence(Name(op.Client), " sent no command: no server could have refused it"), Event{At: op.Return, Op: op, Unasked: true})
}

// sent reports whether a client sent any command during an operation.
func (m *meeting) sent(op *history.Operation) bool {
	return slices.ContainsFunc(m.nodes, func(n *node) bool { return len(n.byOp[op.ID]) > 0 }) ||
		slices.ContainsFunc(m.Commands, func(c history.Command) bool { return c.Op == op.ID && c.Node >= 0 })
}

// grants counts the nodes that granted.
func (r *run) grants(all []*attempt) (n int) {
	for _, a := range all {
		if a.grant >= 0 {
			n++
		}
	}
	return n
}

// fewVotes explains a grant that too few nodes gave.
func (m *meeting) fewVotes(first, second []*attempt) Answer {
	for _, one := range []struct {
		op  *history.Operation
		got int
	}{{m.first, m.grants(first)}, {m.second, m.grants(second)}} {
		if m.votes > 1 && one.got < m.quorum() {
			return because(verdicts.QuorumErosion, sentence(Name(one.op.Client), fmt.Sprintf(" had the votes of %d of %d nodes: with %d needed it would have been refused", one.got, m.votes, m.quorum())),
				Event{At: one.op.Return, Op: one.op, Granted: true, Votes: [2]int{one.got, m.votes}})
		}
	}
	return Answer{}
}

// pairing is two attempts at one node.
type pairing struct{ first, second *attempt }

// common pairs the attempts by node.
func common(first, second []*attempt) (out []pairing) {
	for _, a := range first {
		for _, b := range second {
			if a.node == b.node && b.grant >= 0 && touches(a.keys(), b.keys()) {
				out = append(out, pairing{a, b})
			}
		}
	}
	return out
}

// time returns when the node granted.
func (a *attempt) time() int64 { return a.node.events[a.first()].at }

// granting returns the command that granted.
func (a *attempt) granting() *event { return &a.node.events[a.first()] }

// reported returns the grant in the form that an answer has it.
func (a *attempt) reported() Event {
	e := a.granting().reported("", a.keys())
	e.Granted = true
	return e
}

// from returns the index of the first event after the first's grant.
func (p pairing) from() int { return p.first.first() + 1 }

// to returns the index of the first command of the second's attempt.
func (p pairing) to() int { return p.second.events[0] }

// doubtful reports whether an unexplained reply between the two may concern the second's keys.
func (p pairing) doubtful() bool {
	if p.first.node.broken && p.second.grant >= len(p.first.node.events) {
		return true
	}
	keys := p.second.keys()
	for i := min(p.first.first(), p.to()); i <= p.second.events[len(p.second.events)-1]; i++ {
		if e := &p.first.node.events[i]; e.open && (e.touched == nil || touches(e.touched, keys)) {
			return true
		}
	}
	return false
}

// keys returns the keys that an attempt named.
func (a *attempt) keys() (keys []string) {
	for _, i := range a.events {
		keys = append(keys, a.node.events[i].touched...)
	}
	return keys
}

func touches(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

// candidates returns the events between the two grants that changed what the second asked for, without those of the first's acquire, which made its
// hold, and those of the second's last attempt; and every setting of the node's clock, even before the first grant.
func (m *meeting) candidates(p pairing) (out []int) {
	n, keys := p.first.node, p.second.keys()
	for i := 0; i < p.second.grant; i++ {
		e := &n.events[i]
		clock := e.effect != nil && (e.effect.What == history.ClockSet || e.effect.What == history.ClockRate)
		if i < p.from() && !clock { // an earlier setting of the clock may have ended the first's lease
			continue
		}
		if slices.Contains(p.second.events, i) || !clock && !changesAny(e, keys) || e.op != nil && e.op.ID == m.first.ID && i <= p.first.grant {
			continue
		}
		if e.ended() && e.changes[0].after != nil { // a lease that ended later than it could have
			continue
		}
		out = append(out, i)
	}
	return out
}

func changesAny(e *event, keys []string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool { return slices.Contains(keys, c.key) })
}

// lacks reports whether a node refuses the second when something is left out.
func (m *meeting) lacks(p pairing, from int, left without) bool {
	ok, _ := m.granted(p.second, from, left)
	return !ok
}

// single leaves out each event alone. An event on one of several nodes removes one vote.
func (m *meeting) single(pairs []pairing, spare int) (found []finding) {
	if spare > 0 {
		return nil
	}
	for _, p := range pairs {
		for _, i := range m.candidates(p) {
			if m.lacks(p, i, without{events: []int{i}}) && m.owned(p, i) {
				found = append(found, m.finding(p, i))
			}
		}
	}
	return found
}

// owned reports whether an event took away the first's hold. It did not if it ended a hold of its own client: with that hold left out too, the second
// is granted. Nor did it if it removed what its client had written over the first's hold: with that grant alone left out, the second is refused.
func (m *meeting) owned(p pairing, i int) bool {
	n := p.first.node
	e := &n.events[i]
	client := ""
	switch {
	case e.cmd != nil:
		client = e.cmd.Client
	default:
		client = m.writer(n, i)
	}
	if client == m.first.Client || client == m.second.Client && e.cmd == nil {
		return true
	}
	ops, from := m.holdsOf(p, client, i)
	if len(ops) == 0 {
		return true
	}
	from = min(from, i)
	if w := m.writing(n, i, e.changes); w != nil && w.op != nil && slices.Contains(ops, w.op.ID) && m.conflicts(ops) && m.lacks(p, from, without{ops: ops}) {
		return false
	}
	return m.lacks(p, from, without{events: []int{i}, ops: ops})
}

// conflicts reports whether one of the given acquires must not be granted beside the first.
func (m *meeting) conflicts(ops []uint64) bool {
	return m.Header.Kind != history.Semaphore && slices.ContainsFunc(ops, func(id uint64) bool {
		return m.ops[id].Mode != history.Shared || m.first.Mode != history.Shared
	})
}

// writer returns the client that wrote the value which an event removed.
func (r *run) writer(n *node, i int) string {
	if w := r.writing(n, i, n.events[i].changes); w != nil {
		return w.cmd.Client
	}
	return ""
}

// writing returns the last command before an event that changed one of the given keys other than by moving its expiry.
func (r *run) writing(n *node, i int, keys []change) *event {
	for j := i - 1; j >= 0; j-- {
		e := &n.events[j]
		if e.cmd == nil {
			continue
		}
		for _, c := range e.changes {
			if !c.renewed() && slices.ContainsFunc(keys, func(k change) bool { return k.key == c.key }) {
				return e
			}
		}
	}
	return nil
}

// holdsOf returns the acquires of a client executed between the first's grant and an event, and that of the hold which the event released: also one
// granted before the first, if the first does not rest on it.
func (m *meeting) holdsOf(p pairing, client string, to int) (ops []uint64, from int) {
	from = to
	for i := p.from(); i < to; i++ {
		e := &p.first.node.events[i]
		if e.op == nil || e.op.Client != client || e.op.Op != history.Acquire || len(e.changes) == 0 || e.op.ID == m.second.ID || e.op.ID == m.first.ID {
			continue
		}
		from = min(from, i)
		if !slices.Contains(ops, e.op.ID) {
			ops = append(ops, e.op.ID)
		}
	}
	if op := p.first.node.events[to].op; op != nil && op.Op == history.Release && m.holdOf[op.ID] != nil {
		id := m.holdOf[op.ID].Acquire.ID
		if began := p.first.node.byOp[id]; len(began) > 0 && began[0] < p.from() && id != m.first.ID && m.unmoved(p.first, began[0], without{ops: []uint64{id}}) {
			ops, from = append(ops, id), began[0]
		}
	}
	return ops, from
}

// unmoved reports whether the replies to the commands of an attempt stay the same when something before them is left out.
func (m *meeting) unmoved(a *attempt, from int, left without) bool {
	unmoved := true
	m.again(a, from, left, func(e *event, reply string, _ []change) bool {
		unmoved = same(e.cmd, reply)
		return unmoved
	})
	return unmoved
}

// outlived explains a grant made after the first's lease had ended anyway: it is made even if all that happened in between is left out, and is
// refused once the clock stands still.
func (m *meeting) outlived(pairs []pairing, spare int) Answer {
	var over []pairing
	for _, p := range pairs {
		did := slices.DeleteFunc(m.others(p), func(i int) bool { return p.first.node.events[i].ended() })
		if m.lacks(p, p.from(), without{events: did}) {
			continue
		}
		full := m.Header.Kind == history.Semaphore && m.lacks(p, p.from(), without{stopped: true}) // counting the holds of others granted meanwhile
		if full || m.lacks(p, p.from(), without{events: did, stopped: true}) {
			over = append(over, p)
		}
	}
	if len(over) <= spare {
		return Answer{}
	}
	return m.expired(over[0], math.MaxInt, over[0].second.time(), sentence("whatever else is left out, had the lease of ", Name(m.first.Client), " not ended"))
}

// others returns the candidates that may be left out together. It drops the end of another client's hold that began before the first: that hold would
// last beside the first and refuse the second by itself. A hold that began since is left out together with its grant.
func (m *meeting) others(p pairing) []int {
	return slices.DeleteFunc(m.candidates(p), func(i int) bool {
		return !m.beganSince(p, i) && m.lacks(p, i, without{events: []int{i}}) && !m.owned(p, i)
	})
}

// beganSince reports whether the hold that an event released was granted after the first.
func (m *meeting) beganSince(p pairing, i int) bool {
	op := p.first.node.events[i].op
	if op == nil || m.holdOf[op.ID] == nil {
		return false
	}
	began := p.first.node.byOp[m.holdOf[op.ID].Acquire.ID]
	return len(began) > 0 && began[0] >= p.from()
}

// together leaves out everything that happened between the two, and puts back whatever makes no difference.
func (m *meeting) together(pairs []pairing, spare int) (found []finding) {
	var refusing []pairing
	left := map[*node][]int{}
	for _, p := range pairs {
		all := m.others(p)
		if len(all) > 0 && m.lacks(p, all[0], without{events: all}) {
			refusing = append(refusing, p)
			left[p.first.node] = m.fewest(p, all)
		}
	}
	if len(refusing) <= spare {
		return nil
	}
	for _, p := range refusing {
		for _, i := range left[p.first.node] {
			found = append(found, m.finding(p, i))
		}
	}
	return found
}

// fewest removes from a set the events that need not be left out for the second to be refused.
func (m *meeting) fewest(p pairing, all []int) []int {
	const most = 64
	for i := len(all) - 1; i >= 0 && len(all) <= most; i-- {
		if fewer := slices.Delete(slices.Clone(all), i, i+1); len(fewer) > 0 && m.lacks(p, fewer[0], without{events: fewer}) {
			all = fewer
		}
	}
	return all
}

// unexplained returns the answer if nothing that happened between the two made the difference: time passed, by the server's clock or the second's, or
// the grant ignores the hold.
func (m *meeting) unexplained(pairs []pairing) Answer {
	for _, p := range pairs {
		for i := range p.from() { // those without which the first would not have been granted either
			e := &p.first.node.events[i]
			if e.effect == nil || !slices.Contains(m.candidates(p), i) {
				continue
			}
			if ok, _ := m.granted(p.first, i, without{events: []int{i}}); !ok {
				f := m.finding(p, i)
				return because(f.name, sentence("without ", f.text, ", ", Name(m.first.Client), " would have been refused"), f.told)
			}
		}
		all := m.others(p)
		if m.lacks(p, p.from(), without{events: all, stopped: true}) {
			return m.expired(p, math.MaxInt, p.second.time(), sentence("had no time passed at the server"))
		}
		clock := m.clockOf(p.first.node.events[p.first.first()].cmd)
		if m.lacks(p, min(p.from(), p.to()), without{events: all, clock: clock}) {
			return m.byClientClock(p)
		}
		if answer := m.byReadClock(p); answer.Causes != nil {
			return answer
		}
	}
	p := pairs[0]
	if !m.marked(p) { // the first left nothing for the second to find
		return Answer{}
	}
	return because(verdicts.DoubleGrant, sentence("whatever happened since ", Name(m.first.Client), " was granted is left out, ", Name(m.second.Client), " is granted by ",
		Name(p.second.granting().cmd.Name), ": it does not look at that hold"), p.first.reported(), p.second.reported())
}

// marked reports whether the node, after it had granted the first, held any key that the second asked for.
func (m *meeting) marked(p pairing) bool {
	values := p.first.node.state(p.from())
	return slices.ContainsFunc(p.second.keys(), func(key string) bool { return values[key] != nil })
}

// byClientClock explains a grant decided by the client's clock.
func (m *meeting) byClientClock(p pairing) Answer {
	if m.until(m.first, m.seen) <= m.seen {
		return m.expired(p, math.MaxInt, p.second.time(), sentence("by the clock of ", Name(m.first.Client), "'s grant"))
	}
	return because(verdicts.ClockSkew, sentence("by the clock of ", Name(m.first.Client), "'s grant, ", Name(m.second.Client), " would have been refused"), p.first.reported(), p.second.reported())
}

// byReadClock explains a grant whose client read a time from the server and compared it with its own clock.
func (m *meeting) byReadClock(p pairing) Answer {
	for _, i := range p.second.events {
		e := &p.second.node.events[i]
		until, unit := m.timeIn(strings.Trim(e.cmd.Reply, `"`), e.cmd.Sent)
		if unit == 0 || len(e.changes) > 0 {
			continue
		}
		if i < p.first.first() { // the time belonged to another hold
			continue
		}
		if until <= m.Header.Epoch+e.cmd.Sent {
			return m.expired(p, math.MaxInt, e.at, sentence("had the time not come that it read"))
		}
		return because(verdicts.ClockSkew, sentence("by true time ", Name(m.second.Client), " would have been refused: what it read by ", Name(e.cmd.Name), " lay ",
			time.Duration(until-m.Header.Epoch-e.cmd.Sent).String(), " ahead"), p.first.reported(), p.second.reported())
	}
	return Answer{}
}

// expired returns the answer for the end of a lease.
func (m *meeting) expired(p pairing, i int, at int64, text Sentence) Answer {
	return because(m.lease(p, i, at), sentence(text, ", ", Name(m.second.Client), " would have been refused"))
}

// answer returns the answer for the nearest finding.
func (m *meeting) answer(found []finding) Answer {
	f := nearest(found)
	if f.rank == byAcquire {
		return m.root(f)
	}
	return m.refused(f)
}

// nearest returns the finding to name: by rank, then by time. If a command moved the end of a lease to an earlier time, that command is named, not
// the end.
func nearest(found []finding) finding {
	var left []finding
	for _, f := range found {
		e := &f.node.events[f.event]
		hastened := e.ended() && slices.ContainsFunc(found, func(o finding) bool {
			return o.node == f.node && o.event < f.event && o.node.events[o.event].hastens(e.changes[0].key)
		})
		if !hastened {
			left = append(left, f)
		}
	}
	return slices.MinFunc(left, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.node.events[a.event].at, b.node.events[b.event].at))
	})
}

// hastens reports whether an event moved the expiry of a key to an earlier time.
func (e *event) hastens(key string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool {
		return c.key == key && c.before != nil && c.after != nil && c.after.Expires != 0 && (c.before.Expires == 0 || c.after.Expires < c.before.Expires)
	})
}

// refused returns the answer for a finding.
func (m *meeting) refused(f finding) Answer {
	return because(f.name, sentence("without ", f.text, ", ", Name(m.second.Client), " would have been refused"), f.told)
}

// root follows a grant in between that took the first's hold away, and explains why that was granted.
func (m *meeting) root(f finding) Answer {
	op := f.node.events[f.event].op
	if op == nil || op.Outcome != history.OK || m.depth == 0 || op.Client == m.first.Client || op.Client == m.second.Client {
		return m.refused(f)
	}
	answer := m.meet(m.first, op, op.Return, m.depth-1)
	if answer.Causes == nil {
		return answer
	}
	answer.Experiment = sentence(answer.Experiment, ", and then ", Name(m.second.Client), " as well")
	return answer
}
