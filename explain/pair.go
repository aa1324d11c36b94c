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

// finding is an experiment that had an effect: what was left out, and what it is called.
type finding struct {
	node  *node
	event int // -1: the votes, or nothing at all
	rank  rank
	name  verdicts.Cause
	text  Sentence
	told  Event
}

// rank orders what may be to blame: what somebody else does comes before what the clients do.
type rank int

const (
	byFault rank = iota
	byTime
	byFreeing
	byAcquire
)

// meeting is two holds of which the second was granted although the first was there.
type meeting struct {
	*run
	first, second *history.Operation // their acquires
	seen          int64              // when the harm was done: what the first had been told by then counts
	depth         int
}

// deepest bounds how many grants back a cause is followed.
const deepest = 16

// met explains how two holds could meet.
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
	r.pairs[key] = Answer{} // no circles
	m := &meeting{run: r, first: a, second: b, seen: seen, depth: depth}
	answer := m.explain()
	r.pairs[key] = answer
	return answer
}

// explain does the experiments on the nodes that both asked.
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
	if pairs[0].second.first() < pairs[0].first.first() { // its client learnt of it sooner
		m.first, m.second = m.second, m.first
		for i := range pairs {
			pairs[i].first, pairs[i].second = pairs[i].second, pairs[i].first
		}
	}
	if slices.ContainsFunc(pairs, pairing.doubtful) {
		return Answer{}
	}
	spare := m.grants(m.attempts(m.second)) - m.quorum() // votes that the second could do without
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

// unasked is the answer for a grant of which the record has no command: where the lock was asked before, its client went in on its own count.
func (m *meeting) unasked(first, second []*attempt) Answer {
	op := m.second
	if len(second) > 0 {
		op = m.first
	}
	outer := m.heldBefore(op)
	if len(first) == 0 && len(second) == 0 && outer == nil || m.sent(op) {
		return Answer{}
	}
	if outer != nil && m.depth > 0 && m.kept(outer, op.Call) > op.Return { // the hold that it counted on was still there, for all it knew
		if op == m.second {
			return m.meet(m.first, outer, m.seen, m.depth-1)
		}
		return m.meet(outer, m.second, m.seen, m.depth-1)
	}
	return noCommand(op)
}

// noCommand is the answer for a grant that no server was asked for.
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

// pairing is two attempts on one node.
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

// time is when the node granted.
func (a *attempt) time() int64 { return a.node.events[a.first()].at }

// granting is the command that granted.
func (a *attempt) granting() *event { return &a.node.events[a.first()] }

// reported returns the grant as an answer reports it.
func (a *attempt) reported() Event {
	e := a.granting().reported("", a.keys())
	e.Granted = true
	return e
}

// from is the first event after the first's grant.
func (p pairing) from() int { return p.first.first() + 1 }

// to is the first command of the second's attempt.
func (p pairing) to() int { return p.second.events[0] }

// doubtful reports whether what happened between the two can't be told.
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

// keys are the keys that an attempt named.
func (a *attempt) keys() (keys []string) {
	for _, i := range a.events {
		keys = append(keys, a.node.events[i].touched...)
	}
	return keys
}

func touches(a, b []string) bool {
	return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
}

// candidates are the events between the two grants that changed what the second asked for, but for those of the first's acquire, which made its
// hold, and of the second's last attempt; and the times at which the node's clock was set, even before the first.
func (m *meeting) candidates(p pairing) (out []int) {
	n, keys := p.first.node, p.second.keys()
	for i := 0; i < p.second.grant; i++ {
		e := &n.events[i]
		clock := e.effect != nil && (e.effect.What == history.ClockSet || e.effect.What == history.ClockRate)
		if i < p.from() && !clock { // a clock that was set before may have ended the first's lease
			continue
		}
		if slices.Contains(p.second.events, i) || !clock && !changesAny(e, keys) || e.op != nil && e.op.ID == m.first.ID && i <= p.first.grant {
			continue
		}
		if e.ended() && e.changes[0].after != nil { // a lease that ended later than it might have
			continue
		}
		out = append(out, i)
	}
	return out
}

func changesAny(e *event, keys []string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool { return slices.Contains(keys, c.key) })
}

// lacks reports whether the second is refused on a node when something is left out.
func (m *meeting) lacks(p pairing, from int, left without) bool {
	ok, _ := m.granted(p.second, from, left)
	return !ok
}

// single leaves out each event alone. On several nodes one event takes one vote.
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

// owned reports whether the first's hold is what an event took away. It is not where the event ended a hold of its own client's: when that hold
// is left out together with the event, the second is granted. Nor is it where the event took away what its client had written over the first's
// hold: when that grant alone is left out, the second is refused.
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

// conflicts reports whether one of some acquires must not have been granted beside the first.
func (m *meeting) conflicts(ops []uint64) bool {
	return m.Header.Kind != history.Semaphore && slices.ContainsFunc(ops, func(id uint64) bool {
		return m.ops[id].Mode != history.Shared || m.first.Mode != history.Shared
	})
}

// writer is the client whose command gave a key the value that an event took away.
func (r *run) writer(n *node, i int) string {
	if w := r.writing(n, i, n.events[i].changes); w != nil {
		return w.cmd.Client
	}
	return ""
}

// writing is the last command before an event that changed one of some keys, and did not merely move its end.
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

// holdsOf are the acquires of a client that were executed between the first's grant and an event, and that of the hold which the event released: also
// of one granted before the first, when the first does not rest on it.
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

// unmoved reports whether the commands of an attempt are answered as they were when something before them is left out.
func (m *meeting) unmoved(a *attempt, from int, left without) bool {
	unmoved := true
	m.again(a, from, left, func(e *event, reply string, _ []change) bool {
		unmoved = same(e.cmd, reply)
		return unmoved
	})
	return unmoved
}

// outlived explains a grant that comes when the first's lease has ended anyway: it is given though everything that anybody did in between is
// left out, and is not once the clock stands still.
func (m *meeting) outlived(pairs []pairing, spare int) Answer {
	var over []pairing
	for _, p := range pairs {
		did := slices.DeleteFunc(m.others(p), func(i int) bool { return p.first.node.events[i].ended() })
		if m.lacks(p, p.from(), without{events: did}) {
			continue
		}
		full := m.Header.Kind == history.Semaphore && m.lacks(p, p.from(), without{stopped: true}) // with the others that had come
		if full || m.lacks(p, p.from(), without{events: did, stopped: true}) {
			over = append(over, p)
		}
	}
	if len(over) <= spare {
		return Answer{}
	}
	return m.expired(over[0], math.MaxInt, over[0].second.time(), sentence("whatever else is left out, had the lease of ", Name(m.first.Client), " not ended"))
}

// others are the candidates that may be left out together. The end of another's hold is none when the hold began before the first: it would go on
// beside the first, and refuse the second by itself. One that began since is left out together with its grant.
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

// fewest removes from a set of events those without which the second is refused as well.
func (m *meeting) fewest(p pairing, all []int) []int {
	const most = 64
	for i := len(all) - 1; i >= 0 && len(all) <= most; i-- {
		if fewer := slices.Delete(slices.Clone(all), i, i+1); len(fewer) > 0 && m.lacks(p, fewer[0], without{events: fewer}) {
			all = fewer
		}
	}
	return all
}

// unexplained is the answer when nothing that happened between the two made the difference: time passed, by the server's clock or by the
// second's, or the grant does not look at the hold.
func (m *meeting) unexplained(pairs []pairing) Answer {
	for _, p := range pairs {
		for i := range p.from() { // without which the first would not have been granted either
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
	if !m.marked(p) { // there was nothing of the first for the second to look at
		return Answer{}
	}
	return because(verdicts.DoubleGrant, sentence("whatever happened since ", Name(m.first.Client), " was granted is left out, ", Name(m.second.Client), " is granted by ",
		Name(p.second.granting().cmd.Name), ": it does not look at that hold"), p.first.reported(), p.second.reported())
}

// marked reports whether the node held anything that the second asked for when it had granted the first.
func (m *meeting) marked(p pairing) bool {
	values := p.first.node.state(p.from())
	return slices.ContainsFunc(p.second.keys(), func(key string) bool { return values[key] != nil })
}

// byClientClock explains a grant that its client's clock decided.
func (m *meeting) byClientClock(p pairing) Answer {
	if m.until(m.first, m.seen) <= m.seen {
		return m.expired(p, math.MaxInt, p.second.time(), sentence("by the clock of ", Name(m.first.Client), "'s grant"))
	}
	return because(verdicts.ClockSkew, sentence("by the clock of ", Name(m.first.Client), "'s grant, ", Name(m.second.Client), " would have been refused"), p.first.reported(), p.second.reported())
}

// byReadClock explains a grant whose client read a time and went on: by true time that had come, or had not.
func (m *meeting) byReadClock(p pairing) Answer {
	for _, i := range p.second.events {
		e := &p.second.node.events[i]
		until, unit := m.timeIn(strings.Trim(e.cmd.Reply, `"`), e.cmd.Sent)
		if unit == 0 || len(e.changes) > 0 {
			continue
		}
		if i < p.first.first() { // it was another's time
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

// expired names the end of a lease.
func (m *meeting) expired(p pairing, i int, at int64, text Sentence) Answer {
	return because(m.lease(p, i, at), sentence(text, ", ", Name(m.second.Client), " would have been refused"))
}

// answer returns the nearest findings.
func (m *meeting) answer(found []finding) Answer {
	f := nearest(found)
	if f.rank == byAcquire {
		return m.root(f)
	}
	return m.refused(f)
}

// nearest is the finding to name: by rank, and of one rank the first. The end of a lease that a command moved to an earlier time is that command's doing.
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

// hastens reports whether an event made a key end earlier than it would have.
func (e *event) hastens(key string) bool {
	return slices.ContainsFunc(e.changes, func(c change) bool {
		return c.key == key && c.before != nil && c.after != nil && c.after.Expires != 0 && (c.before.Expires == 0 || c.after.Expires < c.before.Expires)
	})
}

// refused is the answer of a finding.
func (m *meeting) refused(f finding) Answer {
	return because(f.name, sentence("without ", f.text, ", ", Name(m.second.Client), " would have been refused"), f.told)
}

// root follows a grant in between: it took the first's hold away, so the question is why it was given.
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
