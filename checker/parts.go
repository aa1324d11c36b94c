package checker

import (
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// A key with few operations is searched as a whole. One with many is cut at quiet instants, when nothing is under way and nothing can be in force: an
// execution of the whole is then one of each part after the other, and only the highest fence is carried over. Each part is judged by itself; a long
// record breaks what its parts break. A part with more than maxEffects operations isn't searched, and a part without an execution after an acquire of
// unknown outcome isn't judged, because that may take effect in it.
//
// An instant is quiet for all clocks one clock error after it is quiet for one. The header bounds by how much two clocks differ at any time, not how
// the difference moves: from one quiet instant to the next each clock is off by some constant of its own, also where a key is searched as a whole.
//
// If votes count, the votes that an attempt got may refuse others for a lease after it. The holds of a re-entrant client differ only in their number:
// once one of them may have ended by its lease, an accepted release may have meant it, and any other may still exist, for a lease after the last
// operation.

// maxParted is how many operations of a key are searched in parts: for more, the sweep and the windows decide.
const maxParted = 20_000

// parts returns what to search of a key, in order: the whole at once if that is asked for and it is short. It returns nil if all is too much. If a server's
// clock was moved while a hold may have been in force, no instant after that is quiet.
func (d *keyInput) parts(whole bool) []*executions {
	queues := failedMayRefuse(d.a.header)
	total := 0
	for _, op := range []history.Op{history.Acquire, history.Extend, history.Release} {
		total += d.k.count(op, history.OK, history.Busy, history.NotHeld, history.LostHold, history.Unknown)
	}
	if queues && total > 0 {
		total += d.k.count(history.Acquire, history.Fail)
	}
	if total == 0 || total > maxParted || len(d.k.crashes) > 0 {
		return nil
	}
	c := &cutter{d: d, open: d.unreleased(), short: total <= d.opt.whole, quiet: never}
	c.whole = whole && c.short
	for r := range d.k.walk() {
		if r.op == history.Acquire && (r.outcome == history.Busy || r.outcome == history.Fail) && takenBack(d, r) {
			return nil // its commands show that it held for a while, and the record doesn't say when
		}
		if r.op != history.Acquire && r.op != history.Extend && r.op != history.Release || r.outcome == history.Fail && !(queues && r.op == history.Acquire) {
			continue
		}
		c.add(r)
	}
	for i, x := range c.parts {
		to := never
		if i < len(c.parts)-1 {
			to = c.parts[i+1].first - 1
		}
		x.most *= max(maxShare/len(c.parts), 1)
		x.upsets(d.ev, to)
	}
	return c.parts
}

// failedMayRefuse reports whether an acquire that failed may be why another was refused: it had votes, or a place in the queue.
func failedMayRefuse(h history.Header) bool { return h.Votes || h.FIFO }

// cutter cuts a key's records, by call, into parts.
type cutter struct {
	d        *keyInput
	whole    bool // make one part only
	short    bool // it could be one part
	parts    []*executions
	clocks   map[uint32]int // by client: number of its clock
	quiet    int64          // nothing is under way or in force after this; never = unknown
	unsure   int64          // call of the first acquire of unknown outcome in the last stretch; never = none
	fence    uint64
	maybe    bool
	loose    bool       // a hold of a re-entrant client in the last stretch may have ended by its lease
	renewals int        // operations of unknown outcome in the last stretch that may each have renewed a hold
	open     unreleased // grants that operations may mean
}

func (c *cutter) add(r *record) {
	if len(c.parts) == 0 || c.quiet < never && r.call > c.quiet {
		c.begin(r.call)
	}
	x, held := c.parts[len(c.parts)-1], r
	if c.nodesDisagree(r) {
		open := *r
		open.outcome = history.Unknown
		r = &open
	}
	if _, known := c.clocks[r.client]; !known {
		c.clocks[r.client] = x.clocks
		x.clocks++
	}
	e := effectOf{r: r, from: r.call, to: r.ret, clock: c.clocks[r.client], token: c.d.k.tokenOf(r), must: r.outcome != history.Unknown && r.outcome != history.Fail, denied: c.d.breaks(held)}
	_, e.over = c.d.k.claims[held]
	e.exact = c.d.exact(held)
	if r.detailed() && c.d.k.detailOf(r).saysUntil(r) {
		e.promised = c.d.k.detailOf(r).until
	}
	unsure := r.outcome == history.Unknown
	if unsure && (r.op == history.Extend || c.d.a.header.Kind == history.Reentrant) {
		c.renewals++
	}
	c.quiet = max(c.quiet, plus(r.ret, c.d.a.header.ClockError))
	if r.detailed() {
		if h := c.d.holdOf(r); h != nil { // an extend may have begun it
			c.quiet = max(c.quiet, plus(h.gone, c.d.a.header.ClockError))
		}
	}
	switch {
	case r.granted():
		e.from = c.d.k.from(r)
		if r.mode == history.Exclusive {
			e.fence = c.d.k.detailOf(r).fence
			c.fence = max(c.fence, e.fence)
		}
	case r.op == history.Acquire && unsure:
		c.maybe, c.unsure = true, min(c.unsure, r.call)
		if c.short {
			c.quiet = never // it may take effect in any stretch
		}
	}
	if c.lingers(&e) {
		quiet := plus(plus(r.ret, c.d.a.header.ClockError), x.keep)
		for range c.renewals {
			quiet = plus(quiet, x.keep)
		}
		c.quiet = max(c.quiet, quiet)
	}
	if e.changes() {
		e.adrift = c.d.ev.drifts(e.from, e.to, x.keep)
		if c.d.ev.meets(e.from, max(c.quiet, plus(e.to, x.keep)), movesClock) {
			c.quiet = never
		}
	}
	c.open.add(r)
	if unsure {
		e.to = never
	}
	x.effects = append(x.effects, e)
	for _, sent := range c.d.k.behind[held] {
		x.effects = append(x.effects, e.renewedBy(sent))
	}
}

// renewedBy returns the effect of a command that may have renewed the hold which e began, and that no operation accounts for.
func (e *effectOf) renewedBy(sent history.Command) effectOf {
	r := &record{call: sent.Sent, ret: max(sent.Replied, sent.Ran), client: e.r.client, line: e.r.line, detail: e.token, op: history.Extend, outcome: history.Unknown, mode: e.r.mode}
	if r.ret == 0 {
		r.ret = never
	}
	return effectOf{r: r, from: r.call, to: r.ret, clock: e.clock, token: e.token, adrift: e.adrift}
}

// nodesDisagree reports whether a refused release or extend may still have ended its own hold: votes count, and a fault may have kept some nodes from
// it.
func (c *cutter) nodesDisagree(r *record) bool {
	refused := r.saysGone()
	return refused && c.d.a.header.Votes && c.d.ev.excused(c.d.clientName(r), c.d.since(r), r.ret)
}

// lingers reports whether what r was granted, or found, may be in force for a lease after it, whatever the record says of its end.
func (c *cutter) lingers(e *effectOf) bool {
	r := e.r
	switch {
	case !e.changes() && r.op != history.Acquire && c.mayHold(r): // the reply that the hold is gone may be what is wrong
		return true
	case r.op != history.Acquire && c.open.meansAnother(r):
		return true
	case r.op == history.Extend && e.changes() && (e.over || c.d.holdOf(r) == nil): // it may have made a hold again
		return true
	case c.unsure < never: // what it was granted may be in force after all the rest has ended
		return true
	case r.op == history.Acquire && c.d.a.header.Votes:
		return true
	}
	return c.d.a.header.Kind == history.Reentrant && c.mayHaveEnded(r)
}

// mayHold reports whether the client of r may hold at its call: its lease has not ended or, if leases don't end, no release has ended its hold.
func (c *cutter) mayHold(r *record) bool {
	if c.d.a.header.Lease == 0 {
		return len(c.open.of(r.client)) > 0
	}
	return r.call <= plus(c.open.renewed[r.client], c.d.a.header.Lease)
}

// mayHaveEnded reports whether a hold of the last stretch, including that of r, may have ended by its lease, or otherwise than by an accepted release of
// its own.
func (c *cutter) mayHaveEnded(r *record) bool {
	if r.op == history.Acquire {
		return c.loose
	}
	h, lease := c.d.holdOf(r), c.d.a.header.Lease
	whole := h != nil && r.outcome == history.OK && (lease == 0 || r.ret-c.d.k.from(h.began)+c.d.a.header.ClockError < lease)
	c.loose = c.loose || !whole
	return c.loose
}

// begin begins a stretch with clocks of its own and, unless the key is searched as a whole, a part.
func (c *cutter) begin(at int64) {
	if len(c.parts) == 0 || !c.whole {
		h := c.d.a.header
		x := &executions{h: h, k: c.d.k, keep: keep(h), first: at, fence: c.fence, maybe: c.maybe, most: c.d.opt.tried, over: slices.Clone(c.open.grants)}
		c.parts = append(c.parts, x)
	}
	c.clocks = map[uint32]int{}
	c.quiet, c.unsure, c.loose, c.renewals = at, never, false, 0
}

// breaks reports whether r is a reply that a hold is gone which breaks renewal or reentrancy, or would but for a fault, or a later one about that hold. What a
// fault may have done to a server's state is part of executions: one must explain the reply.
func (d *keyInput) breaks(r *record) bool {
	if !r.saysGone() || len(d.k.denied) == 0 {
		return false
	}
	if d.denied == nil {
		d.denied = map[*detail]int64{}
		for o, h := range d.k.denied {
			first, known := d.denied[h]
			judged := (o.op == history.Extend || d.a.header.Kind == history.Reentrant) && !d.ev.meets(h.began.call, o.ret, func(w *history.Window) bool { return len(upsetsOf(w)) > 0 })
			if judged && (!known || o.ret < first) {
				d.denied[h] = o.ret
			}
		}
	}
	h := d.k.denied[r]
	if h == nil {
		h = d.holdOf(r)
	}
	first, known := d.denied[h]
	return known && r.ret >= first
}

// upsets adds the effects that faults may have had on the servers up to an instant.
func (x *executions) upsets(ev *evidence, to int64) {
	for i := range ev.faults {
		for _, u := range upsetsOf(&ev.faults[i]) {
			if u.from > plus(to, x.h.ClockError) || plus(u.to, x.h.ClockError) < x.first {
				continue
			}
			r := &record{call: u.from, ret: u.to, client: nobody, outcome: history.Unknown}
			x.effects = append(x.effects, effectOf{r: r, from: u.from, to: u.to, clock: x.clocks, upset: &u})
			x.clocks++
		}
	}
}

// nobody is the client of a fault's effect.
const nobody = math.MaxUint32

// partFinding is the result of the search of a part.
type partFinding struct {
	x        *executions
	from, to int64 // the operations of the part were called in [from, to)
	known    bool
	all      bool // an execution exists
	none     bool // none does, that is sure
	owned    bool // one exists in which every successful extend finds its hold and no release ends another's, if nothing else is asked
	base     rule // the rules that the record alone doesn't show broken
	broken   rule // the rule to blame
	// refused are the refusals that no execution explains together with the rest, though the sweep may have found a hold for each alone; nil if the
	// rule of refusals is not to blame, or the search for the fewest was given up.
	refused []*record
}

// decide searches the executions of a part and, if there is none, finds the rule to blame.
func (f *partFinding) decide(of map[verdicts.Property]*tally) {
	x := f.x
	f.base = allRules
	if f.all, f.known = x.exist(allRules); f.all || !f.known {
		return
	}
	if f.none, f.known = !x.maybe, !x.maybe; x.maybe {
		return
	}
	if f.breaks(of[verdicts.MutualExclusion]) {
		f.base &^= ruleGrants
	}
	if t := of[verdicts.ReleaseSafety]; f.breaks(t) {
		f.owned, _ = x.exist(ruleClaims)
		if t.violations > len(t.kept) || slices.ContainsFunc(t.kept, func(v Violation) bool { return f.has(&v) && !f.clears(&v, ruleClaims) }) {
			f.base &^= ruleClaims
		}
	}
	x.forgives = slices.ContainsFunc(x.effects, func(e effectOf) bool { return e.denied })
	f.broken, f.known = x.blame(f.base)
	if f.broken == ruleRefusals {
		if set, known := x.culprits(f.base, f.broken); known {
			f.refused = set
		}
	}
}

// breaks reports whether the sweep found a property broken in the part.
func (f *partFinding) breaks(t *tally) bool {
	return t.violations > len(t.kept) || slices.ContainsFunc(t.kept, func(v Violation) bool { return !v.WithinClockError && f.has(&v) })
}

func (f *partFinding) has(v *Violation) bool { return f.from <= v.At && v.At < f.to }

// decided reports whether all parts that meet [from, to] were searched exactly.
func decided(findings []partFinding, from, to int64) bool {
	return len(findings) > 0 && !slices.ContainsFunc(findings, func(f partFinding) bool { return !f.known && f.from <= to && from < f.to })
}

// prepare finds what the search of executions asks of each effect.
func (x *executions) prepare(d *keyInput) {
	queues := failedMayRefuse(d.a.header)
	for i := range x.effects {
		e := &x.effects[i]
		e.free = queues && x.excused(e)
		e.before = x.before(i)
		if e.over {
			its := d.grantOf(e.r)
			e.late = its == nil && x.wasGranted(e)
			e.over = its == nil || !slices.ContainsFunc(x.effects, func(o effectOf) bool {
				return o.r.granted() && its != o.r && o.r.ret > e.r.call && e.mayMean(o.r, o.token)
			})
		}
		e.named = e.token != 0 && slices.ContainsFunc(x.effects, func(o effectOf) bool {
			return o.r.op == history.Acquire && o.changes() && o.token == e.token && e.r.follows(o.r)
		})
	}
}

// wasGranted reports whether an operation may mean the hold of an earlier grant.
func (x *executions) wasGranted(e *effectOf) bool {
	for o := range x.k.overlapping(math.MinInt64, e.r.ret) {
		if o.granted() && e.mayMean(o, x.k.tokenOf(o)) {
			return true
		}
	}
	return false
}

// exact reports whether the hold to which an operation belongs has its token, so that it means no hold without one.
func (d *keyInput) exact(r *record) bool {
	g, token := d.grantOf(r), d.k.tokenOf(r)
	return g != nil && g != r && token != 0 && d.k.tokenOf(g) == token
}

// mayMean reports whether an operation may belong to the hold of a grant, by their tokens and, without them, by mode and time.
func (d *keyInput) mayMean(r, grant *record) bool {
	its := d.k.tokenOf(grant)
	return mayMean(r, d.k.tokenOf(r), grant, its) && !(its == 0 && d.exact(r))
}

// grantOf returns the grant with which the hold of an operation, or the one whose place that took, began; nil if it belongs to none.
func (d *keyInput) grantOf(r *record) (grant *record) {
	for h := d.holdOf(r); h != nil; h = d.k.anew[h.began] {
		grant = h.began
	}
	return grant
}
