package checker

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// An exact search over the abstract lock server: does an execution exist in which every operation takes effect once between its call and
// its return, those of unknown outcome at any time after their call or never, every reply is one that the server's state allows at that instant, and
// every lease ends no earlier than after the lease and no later than the slack after that? A fault of a server adds what it may have done: see upset.
//
// The search tries the orders of the effects, the most urgent first. Whether a lease has ended is decided where an effect depends on it, and not before;
// see choices. The times of an order are difference constraints: an effect has one time for all that it explains, and a clock may be off by the clock
// error. An order without a solution is dropped at once. The search is exponential in the overlap, so it is done for few operations; see maxEffects.

// rule is a rule that an execution obeys.
type rule uint8

const (
	ruleGrants   rule = 1 << iota // a grant meets no conflicting hold
	ruleRefusals                  // a refusal meets a conflicting hold
	ruleClaims                    // a successful extend finds its hold, a successful release ends no other client's
	ruleFences                    // a fence is larger than those before
	allRules     = ruleGrants | ruleRefusals | ruleClaims | ruleFences
)

// Bounds on the exact search.
const (
	maxEffects = 40     // operations of a key
	maxTried   = 20_000 // effects tried for one question, of a key with many parts
	maxShare   = 20     // how many times as many for a key with one part; a few parts share them
)

// effectOf is an operation that takes effect, or whose reply shows the state.
type effectOf struct {
	r        *record
	from     int64
	to       int64 // never: of unknown outcome
	clock    int   // number of its clock
	token    uint32
	fence    uint64
	named    bool  // an earlier acquire has its token: it means no other of unknown outcome
	exact    bool  // the hold to which it belongs by the record has its token: it means no hold without one
	must     bool  // it certainly happened
	denied   bool  // a reply that the hold is gone although its lease was running, by which renewal or reentrancy is broken
	over     bool  // an accepted operation whose hold was certainly gone, and that can mean no other: an extend may have made it again
	late     bool  // it is over because its hold was released
	adrift   bool  // a server's clock may have run at another rate during the lease that it granted: when that ends is not known
	promised int64 // until when its client believes in its hold; 0 = unknown
	free     bool  // a refusal that needs no hold: votes split, or another client was ahead in the queue
	upset    *upset
	before   uint64 // effects of its client that, if they must happen, come before it
}

// changes reports whether an operation can change the state; otherwise its reply only shows the state.
func (e *effectOf) changes() bool {
	switch e.r.outcome {
	case history.Busy, history.NotHeld, history.LostHold, history.Fail:
		return false
	}
	return true
}

// inForce is a hold that the server keeps, unless its lease has ended since it was last found.
type inForce struct {
	effect int // of the acquire
	last   int // time variable of the latest effect on it
	by     int // that effect
	found  int // time variable of the latest effect that it was in force for

	sooner, later int64 // by how much a server's clock may have moved its end since
}

// executions searches operations of one key; see parts.
type executions struct {
	first    int64     // call of the first operation
	fence    uint64    // the highest granted before
	over     []*record // earlier grants whose leases have ended and which no release has certainly ended: an operation may mean their holds
	maybe    bool      // an earlier acquire of unknown outcome may still take effect
	most     int       // effects tried for one question
	h        history.Header
	k        *keyLog
	keep     int64
	effects  []effectOf
	clocks   int // how many; see cutter
	rules    rule
	forgives bool   // executions need not explain replies by which another property is broken
	exempt   uint64 // effects that need not obey the rules
	steps    int
}

// state is the state after the effects ordered so far.
type state struct {
	placed uint64
	ended  uint64 // acquires whose hold a release closed
	closed uint64 // the same of earlier grants, by their index in over: of the first 64
	holds  []inForce
	fence  uint64
	fencer uint32 // the client that was granted the fence; nobody = its hold is gone, or in an earlier part
	last   int    // the latest time variable; -1 = none
	t      instants
}

// before returns the effects that came before effect i, which was called when they had returned: a client does one thing after the other. An extend may
// overlap the rest, but follows the grants that its client had, and one that took time precedes an acquire that was called when it had returned. Effects
// that took no time at one instant have any order.
func (x *executions) before(i int) (before uint64) {
	e := &x.effects[i]
	for j := range x.effects {
		o := &x.effects[j]
		inTurn := !o.r.spanning() && (!e.r.spanning() || o.r.granted()) || o.r.op == history.Extend && o.r.call < o.r.ret && e.r.op == history.Acquire
		if o.r.client == e.r.client && inTurn && o.r.ret <= e.r.call && (o.r.call < e.r.call || o.r.ret < e.r.ret) {
			before |= 1 << j
		}
	}
	return before
}

// excused reports whether the header allows a refusal without a hold. Which of two clients' attempts came first is known but for the clock error.
func (x *executions) excused(b *effectOf) bool {
	return b.r.outcome == history.Busy && slices.ContainsFunc(x.effects, func(o effectOf) bool { return mayKeepOut(x.h, o.r, b.r) })
}

// exist reports whether an execution exists that obeys the rules; known is false if the search was given up.
func (x *executions) exist(rules rule) (found, known bool) { return x.existWithout(rules, 0) }

func (x *executions) existWithout(rules rule, exempt uint64) (found, known bool) {
	x.rules, x.exempt, x.steps = rules, exempt, 0
	found = x.search(state{last: -1, fence: x.fence, fencer: nobody, t: newInstants(x)})
	return found, found || x.steps < x.most
}

func (x *executions) obeys(i int, r rule) bool { return x.rules&r != 0 && x.exempt&(1<<i) == 0 }

func (x *executions) search(s state) bool {
	urgent, due := never, uint64(0)
	for i := range x.effects {
		if e := &x.effects[i]; e.must && s.placed&(1<<i) == 0 {
			urgent, due = min(urgent, e.to), due|1<<i
		}
	}
	if due == 0 {
		return true
	}
	var next []int
	for i := range x.effects {
		if e := &x.effects[i]; s.placed&(1<<i) == 0 && e.from <= plus(urgent, x.h.ClockError) && (e.must || e.changes()) && due&e.before == 0 {
			next = append(next, i)
		}
	}
	slices.SortStableFunc(next, func(a, b int) int { return cmp.Compare(x.effects[a].to, x.effects[b].to) })
	for _, i := range next {
		for _, c := range x.choices(s, i) {
			if x.steps++; x.steps > x.most {
				return false
			}
			if x.take(s, i, c) {
				return true
			}
		}
	}
	return false
}

// choice says of holds in force, as sets of their indices, whose leases have ended before an effect, and which are in force at it. Of the others it
// does not matter.
type choice struct{ gone, there uint }

// choices returns what may be so of the holds before effect i, for all that it depends on. A grant needs room, a refusal as many holds as there are permits,
// and what is about holds of its own each of them; a fault of a server moves or ends every hold.
func (x *executions) choices(s state, i int) (all []choice) {
	e := &x.effects[i]
	room, own := uint(0), uint(0)
	for n, h := range s.holds {
		switch held := &x.effects[h.effect]; {
		case e.upset != nil, e.r.op == history.Release && e.must && e.changes() && !x.obeys(i, ruleClaims):
			own |= 1 << n
		case e.r.outcome == history.Busy && mayRefuse(x.h.Kind, held.r.mode, e.r.mode), e.r.op == history.Acquire && Conflict(x.h.Kind, held.r.client == e.r.client, held.r.mode, e.r.mode):
			room |= 1 << n
		case x.h.Kind == history.Reentrant && held.r.client == e.r.client, e.r.op != history.Acquire && x.means(e, h.effect):
			own |= 1 << n
		}
	}
	switch {
	case e.upset == nil && e.r.outcome == history.Busy && (e.free || !x.obeys(i, ruleRefusals)):
		return []choice{{}}
	case e.upset == nil && e.r.outcome == history.Busy:
		for there := range subsets(room) {
			if bits.OnesCount(there) == Permits(x.h) {
				all = append(all, choice{there: there})
			}
		}
		return all
	}
	over := max(bits.OnesCount(room)-Permits(x.h)+1, 0)
	if e.must && !x.obeys(i, ruleGrants) {
		over = 0
	}
	for full := range subsets(room) {
		if bits.OnesCount(full) != over {
			continue
		}
		for gone := range subsets(own) {
			if c := (choice{gone: full | gone, there: own &^ gone}); c.gone == 0 || x.h.Lease > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// subsets yields the subsets of a set, beginning with the empty one.
func subsets(set uint) iter.Seq[uint] {
	return func(yield func(uint) bool) {
		for sub := uint(0); yield(sub) && sub != set; {
			sub = (sub - set) & set
		}
	}
}

// settle requires what was chosen of the holds before an effect at v, and removes those that have ended.
func (x *executions) settle(s *state, c choice, v int) {
	if x.h.Lease == 0 || c == (choice{}) {
		return
	}
	kept := make([]inForce, 0, len(s.holds)+1)
	for n, h := range s.holds {
		latest := plus(x.keep, h.later)
		if x.effects[h.by].adrift {
			latest = never
		}
		switch {
		case c.gone&(1<<n) != 0:
			end := s.t.variable()
			x.endsAfter(&s.t, h, end)
			s.t.after(end, h.last, -latest)
			s.t.after(h.found, end, 0)
			s.t.after(end, v, 0)
			continue
		case c.there&(1<<n) != 0:
			s.t.after(v, h.last, -latest)
			h.found = v
		}
		kept = append(kept, h)
	}
	s.holds = kept
}

// endsAfter requires that a lease ends no earlier than granted: counted from its latest effect or, if it counts from asked, as stated in the reply. Of one during which
// a clock ran at another rate, only that it began is known.
func (x *executions) endsAfter(t *instants, h inForce, end int) {
	e := &x.effects[h.by]
	switch {
	case e.adrift:
		t.after(h.last, end, 0)
	case x.h.LeaseFromAsking && e.promised != 0:
		t.after(h.last, end, 0)
		t.atLeast(end, e, e.promised-h.sooner)
	default:
		t.after(h.last, end, max(x.h.Lease-h.sooner, 0))
	}
}

// take tries an effect as the next, with what was chosen of the holds before it, in every way allowed.
func (x *executions) take(s state, i int, c choice) bool {
	e := &x.effects[i]
	s.t = s.t.branch()
	v := s.t.variable()
	s.t.bound(v, e)
	if s.last >= 0 {
		s.t.after(s.last, v, 0)
	}
	x.settle(&s, c, v)
	if !s.t.solve() {
		return false
	}
	s.last, s.placed = v, s.placed|1<<i
	switch {
	case e.upset != nil:
		return x.search(e.upset.on(s))
	case e.r.outcome == history.Busy:
		return x.search(s)
	case e.r.op == history.Acquire:
		return x.grant(s, i, v)
	case e.r.saysGone():
		if x.forgives && e.denied {
			return x.search(s)
		}
		return x.missing(s, e)
	case e.r.op == history.Extend:
		return x.extend(s, i, v)
	}
	return x.release(s, i, v)
}

// keeps reports whether the hold of an acquire is in force.
func (s state) keeps(acquire int) bool {
	return slices.ContainsFunc(s.holds, func(h inForce) bool { return h.effect == acquire })
}

func (x *executions) grant(s state, i, v int) bool {
	e := &x.effects[i]
	again := slices.ContainsFunc(s.holds, func(h inForce) bool {
		return x.h.Kind == history.Reentrant && x.effects[h.effect].r.client == e.r.client
	})
	if !again && s.fencer == e.r.client {
		s.fencer = nobody // the hold with that fence is gone: a re-entry of this one may not repeat it
	}
	if e.fence != 0 {
		if x.obeys(i, ruleFences) && (e.fence < s.fence || e.fence == s.fence && !(again && s.fencer == e.r.client)) {
			return false
		}
		if e.fence > s.fence {
			s.fence, s.fencer = e.fence, e.r.client
		}
	}
	s.holds = append(x.renewed(s, i, v), inForce{effect: i, last: v, by: i, found: v})
	return x.search(s)
}

// renewed returns the holds after an effect that renews all holds of a re-entrant lock's client.
func (x *executions) renewed(s state, i, v int) []inForce {
	out := slices.Clone(s.holds)
	for n := range out {
		if x.h.Kind == history.Reentrant && x.effects[out[n].effect].r.client == x.effects[i].r.client {
			out[n] = inForce{effect: out[n].effect, last: v, by: i, found: v}
		}
	}
	return out
}

// means reports whether an operation may belong to a hold: to that with its token or, if one of them has none, to any hold of its client that was
// requested before it returned, in its mode if it names one.
func (x *executions) means(e *effectOf, acquire int) bool {
	a := &x.effects[acquire]
	return e.mayMean(a.r, a.token)
}

func (e *effectOf) mayMean(grant *record, token uint32) bool {
	if token == 0 && (e.exact || e.named && grant.outcome == history.Unknown) {
		return false
	}
	return mayMean(e.r, e.token, grant, token)
}

// mayMean is the same for an operation and an acquire, each with its token; 0: none.
func mayMean(r *record, token uint32, grant *record, its uint32) bool {
	switch {
	case grant.client != r.client, !r.follows(grant):
		return false
	case token != 0 && its != 0:
		return token == its
	}
	return r.stated.fits(grant.mode)
}

// follows reports whether its client had called an acquire before a release, since it does one thing after the other, at one instant too; or, as a
// watchdog may be that early, before an extend had returned.
func (r *record) follows(acquire *record) bool {
	if r.op == history.Release {
		return byInstant(*acquire, *r) <= 0
	}
	return calledWithin(acquire.call, r)
}

// calledWithin reports whether what was called at an instant was called before an operation returned, or at the instant of one without length.
func calledWithin(at int64, r *record) bool { return at < max(r.ret, r.call+1) }

// elsewhere returns the acquires whose holds are open by the record and not in force, and to which an operation may belong, and the same of the grants of
// earlier parts. An answered release, and no other operation, closes the hold to which it belongs, even if the server no longer has it.
func (x *executions) elsewhere(s state, e *effectOf) (open, before []int) {
	for i := range x.effects {
		if x.effects[i].r.granted() && s.placed&(1<<i) != 0 && s.ended&(1<<i) == 0 && x.means(e, i) && !s.keeps(i) {
			open = append(open, i)
		}
	}
	for i, r := range x.over {
		if s.closed&(1<<i) == 0 && e.mayMean(r, x.k.tokenOf(r)) {
			before = append(before, i)
		}
	}
	return open, before
}

// missing searches on after a reply that shows that a hold of e's is not in force, or after a lenient release. A client that has several tries of unknown
// outcome, and no hold, may have asked about any of them.
func (x *executions) missing(s state, e *effectOf) bool {
	own := slices.ContainsFunc(s.holds, func(h inForce) bool { return x.means(e, h.effect) })
	open, before := x.elsewhere(s, e)
	none := len(open)+len(before) == 0
	if own && (x.h.Kind == history.Reentrant && e.r.outcome != history.OK || none && !x.meansOtherTry(s, e)) {
		return false
	}
	if e.r.op != history.Release || none {
		return x.search(s)
	}
	return slices.ContainsFunc(before, func(i int) bool {
		to := s
		to.closed |= 1 << i
		return x.search(to)
	}) || slices.ContainsFunc(open, func(i int) bool {
		to := s
		to.ended |= 1 << i
		return x.search(to)
	})
}

// meansOtherTry reports whether an operation may mean an acquire of unknown outcome whose hold is not in force, and no granted one that is.
func (x *executions) meansOtherTry(s state, e *effectOf) bool {
	other := false
	for i := range x.effects {
		switch a := &x.effects[i]; {
		case a.r.op != history.Acquire || !a.changes() || !x.means(e, i):
		case a.must && s.keeps(i):
			return false
		case !a.must && !s.keeps(i):
			other = true
		}
	}
	return other
}

func (x *executions) extend(s state, i, v int) bool {
	e := &x.effects[i]
	for n, h := range s.holds {
		if !x.means(e, h.effect) {
			continue
		}
		to := s
		to.holds = x.renewed(s, i, v)
		to.holds[n] = inForce{effect: h.effect, last: v, by: i, found: v}
		if x.search(to) {
			return true
		}
	}
	return !x.obeys(i, ruleClaims) && (x.search(s) || e.must && e.over && x.resurrect(s, i, v))
}

// resurrect searches on after an extend, wrongly accepted, that made a hold again which had ended.
func (x *executions) resurrect(s state, i, v int) bool {
	e := &x.effects[i]
	if e.late {
		s.ended = 0
	}
	open, before := x.elsewhere(s, e)
	here := func(o effectOf) bool { return o.r.granted() && e.mayMean(o.r, o.token) }
	if (len(before) > 0 || e.late) && !slices.ContainsFunc(x.effects, here) { // that of a grant of an earlier part
		open = []int{i}
	}
	return slices.ContainsFunc(open, func(acquire int) bool {
		to := s
		to.holds = append(x.renewed(s, i, v), inForce{effect: acquire, last: v, by: i, found: v})
		return x.search(to)
	})
}

func (x *executions) release(s state, i, v int) bool {
	e := &x.effects[i]
	for n, h := range s.holds {
		mine := x.means(e, h.effect)
		if !mine && (x.obeys(i, ruleClaims) || !e.must) {
			continue
		}
		to := s
		to.holds = slices.Delete(slices.Clone(s.holds), n, n+1)
		if mine && e.must {
			to.ended |= 1 << h.effect
		}
		if x.search(to) {
			return true
		}
		if renewed := x.renewed(to, i, v); !slices.Equal(renewed, to.holds) {
			if to.holds = renewed; x.search(to) {
				return true
			}
		}
	}
	return e.must && x.missing(s, e)
}
