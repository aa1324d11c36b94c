package checker

import (
	"math/bits"

	"github.com/lockbench/lockbench/history"
)

// VERDICTS §3 for keys with few operations: linearizability, refusal, fencing-order and, of what its table doesn't show, release-safety are decided by the
// executions of the abstract server. An execution is asked to obey all rules but those that the record alone shows to be broken. Where there is none, a property is
// broken when leaving out its own rule, and no other single one, makes one exist. Where several rules could each be to blame, or none alone,
// linearizability alone reports it.

// blamed are the properties of the rules; that of grants is read off the record.
var blamed = map[rule]history.Property{ruleRefusals: history.Refusal, ruleClaims: history.ReleaseSafety, ruleFences: history.FencingOrder}

// decide replaces what the sweep found of a key by what its executions show, where they can all be searched.
func (d *keyInput) decide(judges []tallier) {
	of := map[history.Property]*tally{}
	for _, j := range judges {
		of[j.result().property] = j.result()
	}
	suspect := of[history.Refusal].violations > 0 || of[history.FencingOrder].violations > 0
	if d.opt.Plain || d.opt.Unsearched && !suspect || !d.rules.on("executions") {
		return
	}
	x := newExecutions(d)
	if x == nil || len(x.effects) == 0 {
		return
	}
	all, known := x.exist(allRules)
	if !known {
		return
	}
	base := allRules
	if of[history.MutualExclusion].violations > 0 {
		base &^= ruleGrants
	}
	if of[history.ReleaseSafety].violations > 0 {
		base &^= ruleClaims
	}
	x.forgive(of[history.Renewal].violations > 0, of[history.Reentrancy].violations > 0)
	broken, known := x.blame(base, all)
	if !known {
		return
	}
	for r, p := range blamed {
		if t := of[p]; r == broken && t.violations == 0 {
			d.reportBlamed(t, x, x.culprit(base, r))
		} else if r != broken && r != ruleClaims {
			t.violations, t.within, t.kept = 0, 0, nil
		}
	}
	if !d.opt.Unsearched {
		d.reportSearch(of, x, all)
	}
}

// blame returns the one rule without which there is an execution; 0 where there is one anyway, or none or several rules could be to blame.
func (x *executions) blame(base rule, all bool) (broken rule, known bool) {
	found := all
	if (base != allRules || x.forgiven != 0) && !all {
		if found, known = x.exist(base); !known {
			return 0, false
		}
	}
	if found {
		return 0, true
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

// culprit returns the first of a smallest set of operations without whose rule there is an execution, the latest such set.
func (x *executions) culprit(base, r rule) *record {
	var free uint64
	for i := range x.effects {
		e := &x.effects[i]
		about := map[rule]bool{ruleRefusals: e.r.outcome == history.Busy, ruleFences: e.fence != 0,
			ruleClaims: e.r.outcome == history.OK && e.r.op != history.Acquire}[r]
		if about {
			free |= 1 << i
		}
	}
	for i := range x.effects {
		if found, _ := x.existWithout(base, free&^(1<<i)); found {
			free &^= 1 << i
		}
	}
	return x.effects[bits.TrailingZeros64(free)].r
}

// reportBlamed reports operation r. Of a release it says as well whose hold there was for it to end, where there was one.
func (d *keyInput) reportBlamed(t *tally, x *executions, r *record) {
	victim := x.beside(d, r)
	if victim == nil || r.op != history.Release {
		d.reportEffect(t, r)
		return
	}
	v := Violation{At: r.call, Clients: []string{d.clientName(victim), d.clientName(r)}}
	t.found(d, v, func() Witness { return d.both(victim, r) })
}

// beside returns the grant of another hold than r's that the server may have kept during r: the first whose holder is told that it is gone, or else the last.
func (x *executions) beside(d *keyInput, r *record) (last *record) {
	for i := range x.effects {
		o := x.effects[i].r
		h := d.holdOf(o)
		if h == nil || h == d.holdOf(r) || h.began.call > r.ret || h.gone < r.call {
			continue
		}
		if o.call >= r.call && (o.outcome == history.NotHeld || o.outcome == history.LostHold) {
			return h.began
		}
		if last == nil || h.began.ret > last.ret {
			last = h.began
		}
	}
	return last
}

func (d *keyInput) reportEffect(t *tally, r *record) {
	v := Violation{At: r.ret, Clients: []string{d.clientName(r)}}
	d.found(t, v, r)
}

// found counts a violation that operation r shows.
func (d *keyInput) found(t *tally, v Violation, r *record) {
	t.found(d, v, func() Witness { return d.witness(d.grantBefore(r, r.call), r) })
}

// reportSearch says whether there is an execution. Where there is none, the first violation of another property shows it best.
func (d *keyInput) reportSearch(of map[history.Property]*tally, x *executions, all bool) {
	t := of[history.Linearizability]
	*t = tally{property: t.property, applies: true, windowed: 1, opportunities: 1}
	if all {
		return
	}
	var first *Violation
	for _, p := range order {
		if other := of[p]; other != nil && p != history.ExclusiveUse && p != history.StoreIntegrity && p != history.Progress && len(other.kept) > 0 {
			if v := &other.kept[0]; first == nil || v.At < first.At {
				first = v
			}
		}
	}
	if first == nil {
		d.reportEffect(t, x.effects[0].r)
		return
	}
	t.found(d, *first, func() Witness { return first.Witness })
	t.violations, t.within = 1, 0
	if len(t.kept) > 0 {
		t.kept[0].WithinClockError = false
	}
}
