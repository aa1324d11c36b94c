package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// A key's operations are searched as one where they are few. Where they are many, they are cut at the quiet instants: nothing is under way and nothing can be in
// force, so that an execution of all is one of each part after the other, and nothing but the highest fence is carried over. Each part is judged by
// itself, so that a long record breaks what its parts break. A part with more than maxEffects operations isn't searched, nor is one that no execution
// explains after an acquire of unknown outcome, which may have its effect in it. Records of locks that vote, of re-entrant ones, or with a clock error are not cut: there what is
// over for one client may still refuse another, and an inner release may have renewed.

// maxParted is how many operations of a key are searched in parts: beyond, the sweep and the windows decide.
const maxParted = 20_000

// parts returns what is to be searched of a key, in order; nil where faults changed the server's data, or the operations are too many.
func (d *keyInput) parts() []*executions {
	total := d.k.count(history.Acquire, history.OK, history.Busy, history.Unknown) + d.k.count(history.Extend, history.OK, history.NotHeld, history.LostHold, history.Unknown) +
		d.k.count(history.Release, history.OK, history.NotHeld, history.LostHold, history.Unknown)
	if total == 0 || total > maxParted || len(d.k.crashes) > 0 || slices.ContainsFunc(d.ev.faults, func(w history.Window) bool { return w.Confirmed && w.Client == "" }) {
		return nil
	}
	c := &cutter{d: d, whole: total <= d.opt.whole || d.a.header.Votes || d.a.header.ClockError > 0 || d.a.header.Kind == history.Reentrant, denied: map[*record]bool{}, quiet: never}
	for _, n := range d.k.denials {
		c.denied[n.r] = true
	}
	for walk := d.k.walk(); ; {
		r := walk.next()
		if r == nil {
			break
		}
		if r.op == history.Acquire && (r.outcome == history.Busy || r.outcome == history.Fail) && takenBack(d, r) {
			return nil // it held for a while, by its commands, and the record doesn't say when
		}
		if r.op != history.Acquire && r.op != history.Extend && r.op != history.Release || r.outcome == history.Fail {
			continue
		}
		c.add(r)
	}
	for _, x := range c.parts {
		for i := range x.effects {
			x.effects[i].free = x.excused(&x.effects[i])
		}
	}
	return c.parts
}

// cutter makes the parts of a key's records, by call.
type cutter struct {
	d       *keyInput
	whole   bool // there is one part
	denied  map[*record]bool
	parts   []*executions
	numbers map[uint32]int // of the clients of the last part
	quiet   int64          // nothing of the last part is under way or in force after this; never = that isn't known
	unsure  int64          // call of the first acquire of unknown outcome in the last part; never = none
	fence   uint64
	maybe   bool
	over    []*record
	told    map[uint32]int64 // by client: when it was told of its last grant in the last part
}

func (c *cutter) add(r *record) {
	if len(c.parts) == 0 || !c.whole && c.quiet < never && r.call > c.quiet {
		c.begin(r.call)
	}
	x := c.parts[len(c.parts)-1]
	if _, known := c.numbers[r.client]; !known {
		c.numbers[r.client] = x.clients
		x.clients++
	}
	e := effectOf{r: r, from: r.call, to: r.ret, client: c.numbers[r.client], token: c.d.k.tokenOf(r), must: r.outcome != history.Unknown, denied: c.denied[r]}
	if r.detailed() && c.d.k.detailOf(r).until > r.ret {
		e.told = c.d.k.detailOf(r).until
	}
	c.quiet = max(c.quiet, r.ret)
	switch {
	case r.granted():
		e.from = c.d.k.from(r)
		if r.mode == history.Exclusive {
			e.fence = c.d.k.detailOf(r).fence
			c.fence = max(c.fence, e.fence)
		}
		c.quiet, c.told[r.client] = max(c.quiet, c.d.holdOf(r).gone), r.ret
	case r.op == history.Acquire && !e.must:
		c.maybe, c.unsure = true, min(c.unsure, r.call)
	}
	if at, ok := c.told[r.client]; ok && r.op != history.Acquire && r.call <= at { // at one instant, the answer may have come first
		c.quiet = max(c.quiet, plus(r.ret, x.keep))
	}
	if c.unsure < never { // what it was given may be in force when all the rest is over
		c.quiet = max(c.quiet, plus(r.ret, x.keep))
	}
	if !e.must {
		e.to = never
	}
	x.effects = append(x.effects, e)
}

func (c *cutter) begin(at int64) {
	h := c.d.a.header
	x := &executions{h: h, k: c.d.k, keep: never, first: at, fence: c.fence, maybe: c.maybe, most: maxTried}
	if h.Lease > 0 {
		x.keep = h.Lease + slack(h)
	}
	if c.d.opt.whole > maxEffects {
		x.most *= 3
	}
	x.h.Permits = max(h.Permits, 1)
	if n := len(c.parts); n > 0 {
		for i := range c.parts[n-1].effects {
			if r := c.parts[n-1].effects[i].r; r.granted() && !c.d.holdOf(r).released {
				c.over = append(c.over, r)
			}
		}
		c.over = c.over[max(0, len(c.over)-maxOpen):]
		x.over = slices.Clone(c.over)
	}
	c.parts, c.numbers, c.told, c.quiet, c.unsure = append(c.parts, x), map[uint32]int{}, map[uint32]int64{}, at, never
}

// partFinding is what the search of a part showed.
type partFinding struct {
	x        *executions
	from, to int64 // when the operations of the part were called
	known    bool
	all      bool // there is an execution
	base     rule // those that the record alone doesn't show to be broken
	broken   rule // the one to blame
}

// search searches a part.
func (d *keyInput) search(of map[verdicts.Property]*tally, x *executions, from, to int64) partFinding {
	f := partFinding{x: x, from: from, to: to, base: allRules}
	if len(x.effects) > max(maxEffects, d.opt.whole) {
		return f
	}
	if f.all, f.known = x.exist(allRules); f.all || !f.known {
		return f
	}
	if f.known = !x.maybe; !f.known {
		return f
	}
	if f.breaks(of[verdicts.MutualExclusion]) {
		f.base &^= ruleGrants
	}
	if f.breaks(of[verdicts.ReleaseSafety]) {
		f.base &^= ruleClaims
	}
	x.forgive(f.breaks(of[verdicts.Renewal]), f.breaks(of[verdicts.Reentrancy]))
	f.broken, f.known = x.blame(f.base, f.all)
	return f
}

// breaks reports whether the sweep found a property broken in the part.
func (f *partFinding) breaks(t *tally) bool {
	return t.violations > len(t.kept) || slices.ContainsFunc(t.kept, func(v Violation) bool { return !v.WithinClockError && f.has(&v) })
}

func (f *partFinding) has(v *Violation) bool { return f.from <= v.At && v.At < f.to }
