package checker

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// The sweep and the windows simplify: they take a belief for a time in which the server keeps the hold, the innermost hold for the one that is meant, and
// lines for an order where instants are equal. Where a key is too long for an exact search of all of it, or of the part, what they find is searched again
// exactly with what is near: the operation, and the holds that can have been in force during its call, with all that was asked of them and at the same
// time. What is left out can only forbid more, so that a violation without an execution there has none in the whole; a violation with one is not shown,
// and is not reported.

// Bounds on what is searched near an operation.
const (
	back    = 2000 // operations before it, among which holds that may be in force are looked for
	maxRead = 600  // operations near it, before what is over is left out
	maxNear = 60   // and after; only one that breaks the rules of the record is searched, so that more can be afforded than of a whole key
)

// vicinity searches what is near the violations of a key.
type vicinity struct {
	*keyInput
	told map[*detail]bool // holds that a reply said to be gone, which may be what is wrong
}

// confirm drops the violations of a key that an execution of what is near them explains.
func (d *keyInput) confirm(of map[verdicts.Property]*tally, findings []partFinding) {
	if len(d.k.crashes) > 0 {
		return
	}
	n := &vicinity{d, map[*detail]bool{}}
	for _, h := range d.k.denied {
		n.told[h] = true
	}
	for _, p := range []verdicts.Property{verdicts.ReleaseSafety, verdicts.Refusal, verdicts.FencingOrder, verdicts.Linearizability} {
		t := of[p]
		if t.violations+t.within != len(t.kept) {
			continue // those that were not kept can't be told apart
		}
		t.drop(func(v *Violation) bool {
			if decided(findings, v.At, plus(v.At, v.Lasted)) || v.WithinClockError || v.shownBy == byCommands {
				return false
			}
			explained, known := n.explains(of, v)
			switch {
			case known:
			case v.shownBy == byBeliefs && !n.ev.meets(math.MinInt64, plus(v.At, v.Lasted), upsetsServer):
			case p == verdicts.Linearizability: // the sweep, which is exact where tokens and instants are, has not found it
				t.withdraw(1, notSearched)
				explained = true
			case explained:
				t.withdraw(1, unknownOutcomes)
			}
			return explained
		})
	}
	n.seek(of, findings)
}

// explains reports whether the search of what is near each operation by which a violation may be shown clears it; known is false if that was too much to
// search. An operation that an acquire of unknown outcome explains may be explained, though that is not known, if the acquire must explain too many others.
func (n *vicinity) explains(of map[verdicts.Property]*tally, v *Violation) (explained, known bool) {
	known = true
	for r := range n.k.overlapping(v.At, plus(v.At, v.Lasted)) {
		if !n.mayShow(v, r) {
			continue
		}
		f, whole := n.finding(of, n.withFence(v, r)...)
		cleared := f.explains(v)
		if f.known && cleared && v.Property == verdicts.Refusal && f.x.unsure() { // one for all that it excuses
			x := n.around(append(n.excused(of[v.Property]), r), everything)
			if x == nil {
				return true, false
			}
			f = x.finding(of)
			cleared = f.explains(v)
		}
		searched := f.known && (cleared || whole)
		if !searched && n.mayBeOfUnknown(r) { // the sweep takes it for another hold's
			sure := n.contradicted(r) != nil
			return !sure, sure
		}
		if f.x == nil {
			known = false
			continue
		}
		if searched && !cleared {
			return false, true
		}
		explained, known = true, known && searched
	}
	return explained && known, known
}

// finding decides about operations with what is near them as about a part; see near.
func (n *vicinity) finding(of map[verdicts.Property]*tally, its ...*record) (f partFinding, whole bool) {
	x, whole := n.near(its...)
	if x == nil {
		return f, false
	}
	return x.finding(of), whole
}

func (x *executions) finding(of map[verdicts.Property]*tally) partFinding {
	f := partFinding{x: x, from: x.first, to: x.last() + 1}
	f.decide(of)
	return f
}

// explains reports whether a violation is none: an execution exists, or another rule is to blame.
func (f *partFinding) explains(v *Violation) bool {
	for r, p := range blamed {
		if p == v.Property && !f.all {
			return f.clears(v, r)
		}
	}
	return f.all
}

// mayBeOfUnknown reports whether a release or an extend may mean the hold of an acquire of unknown outcome.
func (n *vicinity) mayBeOfUnknown(r *record) bool {
	if r.op == history.Acquire {
		return false
	}
	for o := range n.k.overlapping(math.MinInt64, r.ret) {
		if o.op == history.Acquire && o.outcome == history.Unknown && mayMean(r, n.k.tokenOf(r), o, n.k.tokenOf(o)) {
			return true
		}
	}
	return false
}

// contradicted returns an operation with what its own client did, if that has no execution; nil if it has one, or that is not known.
func (n *vicinity) contradicted(r *record) *executions {
	if alone := n.around([]*record{r}, itself); alone != nil {
		if exists, searched := alone.exist(allRules); searched && !exists {
			return alone
		}
	}
	return nil
}

// unsure reports whether an acquire of unknown outcome may be what explains an operation.
func (x *executions) unsure() bool {
	return slices.ContainsFunc(x.effects, func(e effectOf) bool { return e.r.op == history.Acquire && e.r.outcome == history.Unknown })
}

// excused returns the refusals that are not judged because an acquire of unknown outcome may explain them.
func (n *vicinity) excused(t *tally) (all []*record) {
	for r, why := range t.left {
		if why == unknownOutcomes {
			all = append(all, r)
		}
	}
	return all
}

// mayShow reports whether an operation may be what shows a violation.
func (n *vicinity) mayShow(v *Violation, r *record) bool {
	its := len(v.Clients) > 0 && n.clientName(r) == v.Clients[len(v.Clients)-1] && (r.ret == v.At || r.call == v.At)
	switch v.Property {
	case verdicts.Refusal:
		return its && r.op == history.Acquire && r.outcome == history.Busy
	case verdicts.ReleaseSafety:
		return its && r.outcome == history.OK && (r.op == history.Release || r.op == history.Extend)
	case verdicts.FencingOrder:
		return its && r.granted()
	}
	return r.op == history.Acquire && (r.outcome == history.Busy || r.granted())
}

// withFence returns the operation by which a violation may be shown and, if its fence is too small, the last grant whose fence is not smaller: one that
// certainly came before it, if there is one.
func (n *vicinity) withFence(v *Violation, r *record) []*record {
	if v.Property != verdicts.FencingOrder {
		return []*record{r}
	}
	of := []*record{r}
	for o := range n.until(r.ret) {
		if o == r || !o.granted() || o.mode != history.Exclusive || o.ret > r.ret || n.k.detailOf(o).fence < n.k.detailOf(r).fence {
			continue
		}
		if plus(o.ret, n.a.header.ClockError) < n.k.from(r) {
			return []*record{o, r}
		}
		if len(of) == 1 {
			of = []*record{o, r}
		}
	}
	return of
}

// until yields the records that were called by an instant, no more than back, the latest first.
func (n *vicinity) until(at int64) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		seen := 0
		for o := range n.k.overlapping(math.MinInt64, at) {
			if seen++; seen > back || !yield(o) {
				return
			}
		}
	}
}

// near returns the executions of operations with what is near them; nil if that is too much to search. Refusals beside them may be left out, but where
// attempts refuse others. If whole is false, an execution explains the operations, but the lack of one shows nothing.
func (n *vicinity) near(of ...*record) (x *executions, whole bool) {
	companies := []company{everything, holders, standing}
	if failedMayRefuse(n.a.header) {
		companies = companies[:1]
	}
	for _, with := range companies {
		if x = n.around(of, with); x != nil {
			return x, with != standing
		}
	}
	return nil, false
}

// company is what of the operations near others is searched with them.
type company uint8

const (
	everything company = iota
	holders            // no refusals
	standing           // nor holds that were released at the instant of their grant: the release came second
	itself             // what the same client did: nothing else explains an extend, or the answer to one or to a release
)

// around returns the executions of operations with the holds that can have been in force during their calls, and what was asked of them. It returns nil if
// that is too much to search.
func (n *vicinity) around(of []*record, with company) *executions {
	from, by := never, int64(math.MinInt64)
	for _, r := range of {
		from, by = min(from, n.k.from(r)), max(by, plus(r.ret, n.a.header.ClockError))
	}
	since, earlier := n.reach(of, from, with)
	since = n.votesFrom(since)
	if len(of) == 1 && of[0].op == history.Release { // what another's hold came to shows whether it ended that
		by = plus(by, keep(n.a.header))
	}
	until := by
	for o := range n.k.overlapping(since, by) {
		if o.granted() && n.k.from(o) <= by {
			until = max(until, plus(o.ret, n.a.header.ClockError))
		}
	}
	keepsOut := func(o *record) bool {
		return slices.ContainsFunc(of, func(r *record) bool { return r.outcome == history.Busy && mayKeepOut(n.a.header, o, r) })
	}
	another := func(o *record) bool { return with == itself && o.client != of[0].client }
	in := slices.DeleteFunc(slices.Clone(earlier), another)
	for o := range n.k.overlapping(since, until) {
		if another(o) {
			continue
		}
		switch {
		case slices.Contains(of, o), n.belongs(o, since, by), with == everything && n.refusedBy(o, from, by):
			in = append(in, o)
		case with == everything && keepsOut(o): // what became of its grant is left out
			in, earlier = append(in, o), append(earlier, o)
		}
		if len(in) > maxRead {
			return nil
		}
	}
	late := map[*record]int64{}
	if len(in) > maxNear {
		in = n.shorten(in, of, from, late)
	}
	if len(in) > maxNear {
		return nil
	}
	x := n.executions(in, of, earlier, by, late)
	if x != nil {
		x.over = n.openBefore(since, in)
	}
	return x
}

// shorten leaves out the extends of a hold whose effect was over by an instant, and takes the grant for one that may have come as late as the last of them:
// what it had lasted until then is searched elsewhere. A re-entrant client has one lease for several holds, and of a client that asked for something else
// meanwhile the order would be lost.
func (n *vicinity) shorten(in, of []*record, by int64, late map[*record]int64) []*record {
	if n.a.header.Kind == history.Reentrant || n.a.header.Lease == 0 {
		return in
	}
	last := map[*record]*record{} // by grant
	for _, o := range in {
		if o.op == history.Extend && o.outcome == history.OK && plus(plus(o.ret, keep(n.a.header)), n.a.header.ClockError) < by && !slices.Contains(of, o) {
			if g := n.grantOf(o); g != nil && g.granted() && (last[g] == nil || last[g].ret < o.ret) {
				last[g] = o
			}
		}
	}
	for g, end := range last {
		if slices.ContainsFunc(in, func(o *record) bool {
			return o.client == g.client && o != g && n.grantOf(o) != g && o.ret >= g.call && o.call <= end.ret
		}) {
			delete(last, g)
			continue
		}
		late[g] = end.ret
	}
	return slices.DeleteFunc(in, func(o *record) bool {
		g := n.grantOf(o)
		return o.op == history.Extend && g != nil && last[g] != nil && o.ret <= last[g].ret
	})
}

// executions returns the executions of operations near others, by an instant; nil if there are too many. What ended the holds of earlier acquires is left
// out, so that they may be left out too. Some grants may have come late: see shorten.
func (n *vicinity) executions(in, of, earlier []*record, by int64, late map[*record]int64) *executions {
	slices.SortFunc(in, func(a, b *record) int { return cmp.Or(byCall(*a, *b), n.a.order(n.k, a, b)) })
	c := &cutter{d: n.keyInput, open: n.unreleased(), whole: true, short: true, quiet: never}
	for _, o := range in {
		c.add(o)
	}
	x := c.parts[0]
	entered := map[uint32]bool{} // by client: all of what it was in at its grants is searched
	for i := range x.effects {
		e := &x.effects[i]
		if e.r.granted() {
			entered[e.r.client] = entered[e.r.client] || n.k.detailOf(e.r).fresh
			if n.a.header.Kind == history.Reentrant && !entered[e.r.client] && !slices.Contains(of, e.r) {
				e.fence = 0 // it may re-enter a hold that is left out, with an equal fence
			}
		}
		if to, ok := late[e.r]; ok {
			e.to, e.fence = to, 0
		}
		keepsOut := e.r.outcome == history.Busy && failedMayRefuse(n.a.header) // it is there for what it may refuse
		if e.must && !slices.Contains(of, e.r) && (e.to > by || keepsOut || n.orphan(x, e, in) || slices.Contains(earlier, e.r)) {
			e.must = false
		}
	}
	x.upsets(n.ev, max(by, x.last()))
	if len(x.effects) > maxNear {
		return nil
	}
	x.prepare(n.keyInput)
	return x
}

// openBefore returns the grants before an instant, other than given ones, whose holds operations may mean even after their leases.
func (n *vicinity) openBefore(at int64, in []*record) []*record {
	open := n.unreleased()
	for _, o := range slices.Backward(slices.Collect(n.until(at - 1))) {
		open.add(o)
	}
	return slices.DeleteFunc(open.grants, func(g *record) bool { return slices.Contains(in, g) })
}

// orphan reports whether an operation may mean no hold of acquires that are searched with it, nor one that it made again.
func (n *vicinity) orphan(x *executions, e *effectOf, in []*record) bool {
	stray := e.r.op == history.Release && n.holdOf(e.r) == nil // it means none in the whole record
	return e.r.op != history.Acquire && !stray && !slices.ContainsFunc(in, func(o *record) bool {
		return o.op == history.Acquire && mayMean(e.r, e.token, o, n.k.tokenOf(o))
	}) && !(e.over && x.wasGranted(e))
}

// reach returns since when the holds were requested that can have been in force from an instant on, or that operations may mean, and of earlier acquires
// those of unknown outcome, and those of holds that operations may mean and whose leases were over.
func (n *vicinity) reach(of []*record, at int64, with company) (since int64, earlier []*record) {
	from := at - n.a.header.ClockError
	since = from
	last := of[0].ret
	var spent []*record
	for _, r := range of {
		for h := n.meant(r); h != nil; h = n.k.anew[h.began] {
			if !slices.Contains(of, h.began) && n.spent(h, of, from) {
				spent = append(spent, h.began)
			} else {
				since = min(since, h.began.call)
			}
		}
		last = max(last, r.ret)
	}
	needed := map[uint32]int64{} // by client: what it was granted may last until from if it had an effect as late as this
	for o := range n.until(last) {
		if o.op != history.Acquire && o.op != history.Extend || !o.detailed() {
			continue
		}
		at, known := needed[o.client]
		if !known {
			at = from
		}
		lasts := plus(o.ret, keep(n.a.header)) >= at
		if lasts && (o.op == history.Extend || n.a.header.Kind == history.Reentrant) { // it may have renewed what was granted before
			needed[o.client] = min(at, o.call)
		}
		if h := n.holdOf(o); h == nil || o.op == history.Extend && n.k.detailOf(o).role != starts {
			if h == nil && lasts { // of an acquire of unknown outcome, or it made a hold again
				since = min(since, o.call)
			}
			continue
		}
		// Without a token what ended it may have ended another, and what extended another it. A reply that it is gone may be wrong. A release at the
		// instant of the acquire may have come first, and have been accepted for nothing. A clock that was moved may have kept it.
		h := n.holdOf(o)
		if slices.Contains(spent, h.began) { // what is searched may have renewed another
			continue
		}
		if h.gone >= from && o.op == history.Extend { // it took the place of the hold that it extended
			since = min(since, n.grantOf(o).call)
		}
		atOnce := h.release != nil && h.release.ret <= o.call && with != standing
		released := h.release != nil && h.release.outcome == history.OK && h.release.ret < from
		moved := !released && n.ev.meets(o.call, plus(o.ret, keep(n.a.header)), movesClock)
		if h.gone >= from || moved || lasts && (n.k.tokenOf(o) == 0 || n.told[h] || atOnce) {
			since = min(since, o.call)
			if n.a.header.Kind == history.Reentrant { // it may have entered what it was granted before
				needed[o.client] = min(at, o.call)
			}
		}
	}
	for o := range n.until(since - 1) {
		if o.op == history.Acquire && o.outcome == history.Unknown && o.ret < since || slices.Contains(spent, o) && o.call < since {
			earlier = append(earlier, o)
		}
	}
	return since, earlier
}

// spent reports whether the lease of a hold was over by an instant, whatever became of it: nothing that its client was granted by other operations than
// the given ones was in force.
func (n *vicinity) spent(h *detail, of []*record, by int64) bool {
	if n.a.header.Lease == 0 || h.began.op != history.Acquire || n.ev.meets(h.began.call, by, movesClock) {
		return false
	}
	for o := range n.k.overlapping(h.began.call, by) {
		renews := o.op == history.Acquire || o.op == history.Extend || o.op == history.Release && n.a.header.Kind == history.Reentrant // an inner one
		if !renews || o.client != h.began.client || slices.Contains(of, o) || o.outcome != history.OK && o.outcome != history.Unknown {
			continue
		}
		unsure := o.outcome == history.Unknown && (o.op == history.Extend || n.a.header.Kind == history.Reentrant)
		if unsure || o.outcome == history.OK && plus(plus(o.ret, keep(n.a.header)), n.a.header.ClockError) >= by {
			return false
		}
	}
	return true
}

// belongs reports whether an operation is an acquire that was called since an instant and can have taken effect by another, or may mean the hold of one.
func (n *vicinity) belongs(o *record, since, by int64) bool {
	switch {
	case o.op == history.Acquire:
		return (o.granted() && o.call >= since || o.outcome == history.Unknown) && n.k.from(o) <= by
	case o.op != history.Extend && o.op != history.Release || o.outcome == history.Fail:
		return false
	case o.op == history.Release && n.k.tokenOf(o) == 0:
		return true
	}
	h := n.holdOf(o)
	if h == nil { // at one instant it may come before the reply that its hold is gone
		return o.outcome == history.OK || o.outcome == history.Unknown
	}
	return h.began.call >= since && n.k.from(h.began) <= by
}

// votesFrom returns when an attempt may have ended whose votes refuse others at an instant: until they are taken back, or for a lease.
func (n *vicinity) votesFrom(at int64) int64 {
	switch {
	case !n.a.header.Votes:
		return at
	case n.a.header.Lease == 0:
		return math.MinInt64
	}
	return at - keep(n.a.header)
}

// refusedBy reports whether an acquire was refused, or failed where that counts, within a time, so that what is near explains it, or refuses by its votes or place.
func (n *vicinity) refusedBy(o *record, from, by int64) bool {
	switch {
	case o.op != history.Acquire || o.outcome != history.Busy && o.outcome != history.Fail:
		return false
	case !failedMayRefuse(n.a.header):
		within := o.call >= from && o.ret <= by-n.a.header.ClockError // an earlier call may have met a hold that is gone, a later one a hold that began later
		return o.outcome == history.Busy && within
	}
	return o.call <= by
}
