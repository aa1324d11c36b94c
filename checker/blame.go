package checker

import (
	"math"
	"math/bits"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Which property is broken, for keys with few operations. The executions of the abstract server decide linearizability, refusal, fencing-order and, where
// the table of docs/verdicts.md leaves it open, release-safety. An execution must obey all rules except those that the record alone shows broken. If none
// exists, a property is broken if leaving out its rule, and no other single rule, makes one exist. If several rules could each be to blame, or none alone,
// the parts between instants at which nothing is in force are judged each by itself: what is wrong in one clears nothing in another. Where that blames no
// rule either, only linearizability is reported.

// blamed maps rules to properties; whether grants conflict is read from the record.
var blamed = map[rule]verdicts.Property{ruleRefusals: verdicts.Refusal, ruleClaims: verdicts.ReleaseSafety, ruleFences: verdicts.FencingOrder}

// decide replaces the sweep's findings for a key by those of its executions: of the whole key, of its parts, or else of what is near each finding.
func (d *keyInput) decide(judges []judge) {
	of := map[verdicts.Property]*tally{}
	for _, j := range judges {
		of[j.result().property] = j.result()
	}
	suspect := of[verdicts.Refusal].violations > 0 || of[verdicts.FencingOrder].violations > 0
	if d.opt.Plain || d.opt.Unsearched && !suspect || !d.obeys("executions") {
		return
	}
	d.confirm(of, d.decideExactly(of))
	if t := of[verdicts.Linearizability]; t.violations == 0 && !d.opt.Unsearched {
		d.reportContradicted(t, of)
	}
}

// reportContradicted reports that no execution exists if another property shows it: one that obeyed all rules would obey those of refusals, fences and
// releases. Of several violations the first shows it.
func (d *keyInput) reportContradicted(t *tally, of map[verdicts.Property]*tally) {
	first := firstOf(of, []verdicts.Property{verdicts.ReleaseSafety, verdicts.FencingOrder, verdicts.Refusal}, func(v *Violation) bool {
		return !v.WithinClockError && v.shownBy != byCommands
	})
	if first != nil {
		t.applies, t.note, t.undecided = true, "", 0
		t.found(*first, func() Witness { return first.Witness })
	}
}

// firstOf returns the first violation of a sort that was kept of some properties; nil if there is none.
func firstOf(of map[verdicts.Property]*tally, properties []verdicts.Property, is func(*Violation) bool) (first *Violation) {
	for _, p := range properties {
		for i := range of[p].kept {
			if v := &of[p].kept[i]; is(v) && (first == nil || v.At < first.At) {
				first = v
			}
		}
	}
	return first
}

// decideExactly replaces the sweep's findings as far as the key, or its parts, can be searched, and returns what it found.
func (d *keyInput) decideExactly(of map[verdicts.Property]*tally) []partFinding {
	findings, known := d.searchAll(of, d.parts(true))
	if len(findings) == 1 && !findings[0].all && findings[0].broken == 0 { // too much at once, or perhaps several things are wrong, each in its part
		if parts := d.parts(false); len(parts) > 1 {
			inParts, all := d.searchAll(of, parts)
			wrong := slices.ContainsFunc(inParts, func(f partFinding) bool { return f.broken != 0 })
			if !known || all && wrong {
				findings, known = inParts, all
			}
		}
	}
	for i := range findings {
		x := findings[i].x
		if findings[i].known || len(x.effects) > d.opt.whole { // windows decide what is too long
			continue
		}
		if !d.opt.Unsearched {
			of[verdicts.Linearizability].unjudged(1, notSearched)
			if len(findings) == 1 { // a short history is searched exactly, or is not decided
				of[verdicts.Linearizability].undecided++
			}
		}
		if d.a.header.ClockError > 0 {
			of[verdicts.Refusal].retract(x)
		}
	}
	if len(findings) == 0 || len(findings) == 1 && !known {
		return findings
	}
	for r, p := range blamed {
		d.replace(of[p], findings, r, known)
	}
	if !d.opt.Unsearched {
		d.reportSearch(of, findings, known)
	}
	return findings
}

// retract counts the refusals of a part that was given up as not judged, but for those that the sweep found broken: with a clock error it finds each a
// hold, and not one execution for all.
func (t *tally) retract(x *executions) {
	for i := range x.effects {
		r := x.effects[i].r
		broken := slices.ContainsFunc(t.kept, func(v Violation) bool { return v.At == r.ret })
		if _, left := t.left[r]; r.outcome == history.Busy && !left && !broken {
			t.opportunities--
			t.leave(r, notSearched)
		}
	}
}

// searchAll searches the parts of a key; known is false if one of them was given up.
func (d *keyInput) searchAll(of map[verdicts.Property]*tally, parts []*executions) (findings []partFinding, known bool) {
	known = true
	for i, x := range parts {
		from, to := int64(math.MinInt64), never
		if i > 0 {
			from = x.first
		}
		if i < len(parts)-1 {
			to = parts[i+1].first
		}
		f := partFinding{x: x, from: from, to: to}
		if len(x.effects) <= d.opt.whole {
			x.prepare(d)
			f.decide(of)
		}
		findings, known = append(findings, f), known && f.known
	}
	return findings, known
}

// replace puts the findings for a rule of the parts that were searched in place of the sweep's. If the sweep found more violations than it kept, those
// of a part can't be told from the others, and go only if all parts were searched and none blames the rule.
func (d *keyInput) replace(t *tally, findings []partFinding, r rule, all bool) {
	few := t.violations+t.within == len(t.kept)
	switch {
	case few:
		t.drop(func(v *Violation) bool {
			return slices.ContainsFunc(findings, func(f partFinding) bool {
				return f.has(v) && (f.clears(v, r) || r == ruleRefusals && f.refused != nil)
			})
		})
	case all && r != ruleClaims && !slices.ContainsFunc(findings, func(f partFinding) bool { return f.broken == r }):
		t.violations, t.within, t.kept = 0, 0, nil
	}
	for _, f := range findings {
		switch {
		case f.broken != r:
		case few && r == ruleRefusals && f.refused != nil:
			for _, b := range f.refused {
				d.reportBlamed(t, f.x, b, r)
			}
		case !f.breaks(t):
			set, _ := f.x.culprits(f.clearest(r), r)
			d.reportBlamed(t, f.x, set[0], r)
		}
	}
}

// clears reports whether the search of a part shows that a violation which the sweep found in it is none.
func (f *partFinding) clears(v *Violation, r rule) bool {
	if r == ruleClaims {
		return f.all && v.shownBy != byCommands || f.owned && v.shownBy == byRecord
	}
	return f.known && (f.broken != r || v.WithinClockError)
}

// blame returns the one rule without which an execution exists, where none obeys all; 0 if one obeys the base, or if none or several rules could be to blame.
func (x *executions) blame(base rule) (broken rule, known bool) {
	if base != allRules || x.forgives {
		if found, known := x.exist(base); found || !known {
			return 0, known
		}
	}
	for r := ruleGrants; r <= ruleFences; r <<= 1 {
		if base&r == 0 {
			continue
		}
		found, known := x.exist(base &^ r)
		switch {
		case !known:
			return 0, false
		case found && broken != 0:
			return 0, true
		case found:
			broken = r
		}
	}
	return broken, true
}

// clearest returns the rules with which to look for the operations that break rule r: all others, if without r alone an execution exists. An operation
// that explains what other rules were found broken by, too, is nearer to what happened.
func (f *partFinding) clearest(r rule) rule {
	if found, known := f.x.exist(allRules &^ r); found && known {
		return allRules
	}
	return f.base
}

// culprits returns the operations of a smallest set without whose rule an execution exists, by call; of several such sets, the latest. If known is
// false a search was given up, and a smaller set may exist.
func (x *executions) culprits(base, r rule) (set []*record, known bool) {
	var free uint64
	for i := range x.effects {
		e := &x.effects[i]
		about := map[rule]bool{ruleRefusals: e.r.outcome == history.Busy, ruleFences: e.fence != 0,
			ruleClaims: e.r.outcome == history.OK && e.r.op != history.Acquire}[r]
		if about {
			free |= 1 << i
		}
	}
	known = true
	for i := range x.effects {
		if free&(1<<i) == 0 {
			continue
		}
		found, certain := x.existWithout(base, free&^(1<<i))
		if known = known && certain; found {
			free &^= 1 << i
		}
	}
	for ; free != 0; free &= free - 1 {
		set = append(set, x.effects[bits.TrailingZeros64(free)].r)
	}
	return set, known
}

// reportBlamed reports operation r, and for a release the hold that it can have ended, if there was one.
func (d *keyInput) reportBlamed(t *tally, x *executions, r *record, by rule) {
	if by == ruleClaims && d.restored(r) {
		if _, left := t.left[r]; !left {
			t.opportunities--
			t.leave(r, metAFault)
		}
		return
	}
	if by == ruleClaims && r.op == history.Release && x.endedItsOwn(d, r) {
		return
	}
	t.take(r)
	victim := x.beside(d, r)
	if victim == nil || r.op != history.Release {
		t.foundAt(r)
		return
	}
	v := Violation{At: r.call, Clients: []string{d.clientName(victim), d.clientName(r)}}
	t.found(v, func() Witness { return d.both(victim, r) })
}

// endedItsOwn reports whether commands show that a release removed what its own client had set: every other hold that the server may have kept meanwhile
// was granted by a command that the node executed after that, or set nothing, or what it set had been overwritten by the own grant. Where the own lease
// cannot have ended, the command need only be able to follow.
func (x *executions) endedItsOwn(d *keyInput, r *record) bool {
	var removal *history.Command
	for _, c := range d.ev.commandsOf(d.clientName(r), r.call, r.ret) {
		if c.Removed() {
			removal = &c
		}
	}
	if removal == nil || d.a.header.Votes {
		return false
	}
	own := d.meant(r)
	running := own != nil && (x.h.Lease == 0 || plus(d.k.from(own.began), x.h.Lease) > removal.Replied)
	for i := range x.effects {
		o := x.effects[i].r
		if x.effects[i].upset != nil || !o.granted() || o.client == r.client || o.call > r.ret || d.holdOf(o).gone < r.call || d.setNothing(o) {
			continue
		}
		var granting *history.Command // a script's reply does not show it: the last one
		for _, c := range d.ev.commandsOf(d.clientName(o), o.call, o.ret) {
			if c.Replied <= o.ret && (c.Accepted() || c.IsScript() && c.Replied != 0) {
				granting = &c
			}
		}
		if granting == nil || !granting.Follows(removal, !running) && !d.overwrote(own, o, removal) {
			return false
		}
	}
	return true
}

// overwrote reports whether the grant of a hold certainly wrote over all that another grant had set of the keys that a command names, and put another value
// there: what has the same value is the mark of both.
func (d *keyInput) overwrote(own *detail, other *record, removal *history.Command) (changed bool) {
	if own == nil {
		return false
	}
	writes := d.ev.commandsOf(d.clientName(own.began), own.began.call, own.began.ret)
	for _, c := range d.ev.commandsOf(d.clientName(other), other.call, other.ret) {
		if !c.Accepted() && !c.IsScript() || !share(c.Keys(), removal.Keys()) {
			continue
		}
		if !slices.ContainsFunc(writes, func(w history.Command) bool {
			over, anew := w.Overwrites(&c)
			over = over && w.Follows(&c, true)
			changed = changed || over && anew
			return over
		}) {
			return false
		}
	}
	return changed
}

// beside returns the grant of another hold than r's that the server may have kept during r: the first whose holder learns that it is gone, or else
// the last.
func (x *executions) beside(d *keyInput, r *record) (last *record) {
	for i := range x.effects {
		o := x.effects[i].r
		if x.effects[i].upset != nil {
			continue
		}
		h := d.holdOf(o)
		if h == nil || h == d.holdOf(r) || h.began.call > r.ret || h.gone < r.call {
			continue
		}
		if o.ret > r.call && o.saysGone() {
			return h.began
		}
		if last == nil || h.began.ret > last.ret {
			last = h.began
		}
	}
	return last
}

// reportSearch reports in how many parts an execution exists. For a part without one it shows the first violation of another property in that part.
// If not all parts were searched, the windows stay that meet one which was not.
func (d *keyInput) reportSearch(of map[verdicts.Property]*tally, findings []partFinding, all bool) {
	t := of[verdicts.Linearizability]
	if all {
		*t = tally{d: d, property: t.property, applies: true, windowed: len(findings), opportunities: len(findings)}
	} else if t.violations+t.within == len(t.kept) {
		t.drop(func(v *Violation) bool { return decided(findings, v.At, plus(v.At, v.Lasted)) })
	}
	for i := range findings {
		if f := &findings[i]; f.known && !f.all && !f.breaks(t) {
			d.reportPart(t, of, f)
		}
	}
}

func (d *keyInput) reportPart(t *tally, of map[verdicts.Property]*tally, f *partFinding) {
	first := firstOf(of, []verdicts.Property{verdicts.MutualExclusion, verdicts.ReleaseSafety, verdicts.FencingOrder, verdicts.Refusal, verdicts.Reentrancy,
		verdicts.Renewal, verdicts.Fairness}, f.has)
	if first == nil {
		d.reportUnexplained(t, f.x)
		return
	}
	v := *first
	v.WithinClockError = false
	t.found(v, func() Witness { return first.Witness })
}

// reportUnexplained reports operations without a common execution, if no other property says what is broken.
func (d *keyInput) reportUnexplained(t *tally, x *executions) {
	set := []*record{x.effects[0].r}
	if len(t.kept) < d.opt.MaxViolations {
		set = x.unexplained()
	}
	v := Violation{At: set[0].ret}
	var answers []*record
	for _, r := range set {
		if name := d.clientName(r); !slices.Contains(v.Clients, name) {
			v.Clients = append(v.Clients, name)
		}
		if !r.granted() {
			answers = append(answers, r)
		}
		v.At = max(v.At, r.ret)
	}
	t.found(v, func() Witness { return d.witness(set, answers...) })
}

// maxRemoval is how many effects may be tried to decide whether an operation can be left out of a set without an execution.
const maxRemoval = 5_000

// unexplained returns, by call, a smallest set of operations that have no execution together: without any one of them, the others have one. An
// operation left out may have had its effect at its time, or none. The latest are left out first, so that the set shows the earliest contradiction.
func (x *executions) unexplained() (set []*record) {
	y := *x
	y.effects, y.most, y.forgives = slices.Clone(x.effects), maxRemoval, false
	for i := range slices.Backward(y.effects) {
		e := &y.effects[i]
		if !e.must {
			continue
		}
		e.must = false
		found, known := y.exist(allRules)
		e.must = found || !known
	}
	for i := range y.effects {
		if y.effects[i].must {
			set = append(set, y.effects[i].r)
		}
	}
	return set
}
