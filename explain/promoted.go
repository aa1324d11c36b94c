package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file finds what a promoted replica had: the data after some of the commands that the primary had executed, in their order. The last of them is
// recorded only in the simulator. Elsewhere the search for the order tries one after another: the replies after the promotion tell.

// replaces reports whether by an effect a replica took the node's place of which it is not recorded which commands it had.
func (d dated) replaces() bool { return d.What == history.Promoted && !d.Known }

// fromKeys stands for data of which nothing is known but the keys that a fault kept and lost.
const fromKeys = -1

// pasts returns what the data of a promoted replica may have been, the likeliest first: by how many of the node's events it had, or fromKeys. It had those
// up to the end of replication or, if its keys are recorded to be as the primary's were, up to the promotion.
func (o *orderer) pasts(d dated) (all []int) {
	const most = 16
	cut := d.from
	if d.replica == history.HadKey {
		cut = d.At
	}
	away := map[int]int64{} // from the cut
	o.backwards(func(past int, from, to int64, values map[string]*Value) {
		if o.agrees(values, d) {
			all, away[past] = append(all, past), max(from-cut, cut-to, 0)
		}
	}, d.At)
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(away[a], away[b]) })
	all = all[:min(len(all), most)]
	if len(d.Kept) == 0 {
		return append([]int{fromKeys}, all...)
	}
	return append(all, fromKeys)
}

// backwards calls visit with the data that the node had until an instant, by how many of its events: the latest first, back to its last restart or promotion.
func (o *orderer) backwards(visit func(past int, from, to int64, values map[string]*Value), until int64) {
	values := maps.Clone(o.m.values)
	past := len(o.events)
	for past > 0 {
		e := &o.events[past-1]
		if len(e.changes) > 0 || e.resets() {
			visit(past, e.at, until, values)
			until = e.at
		}
		if e.resets() {
			return
		}
		for _, c := range e.changes {
			if values[c.key] = c.before; c.before == nil {
				delete(values, c.key)
			}
		}
		past--
	}
	visit(0, math.MinInt64, until, values)
}

// agrees reports whether data may be what a promoted replica had, by the keys that are recorded as kept and lost.
func (o *orderer) agrees(values map[string]*Value, d dated) bool {
	now := o.m.epoch + d.At
	may := func(key string) (there, gone bool) {
		v := values[key]
		if v == nil {
			return false, true
		}
		earliest, latest := v.ends()
		return v.Expires == 0 || latest > now, v.Expires != 0 && earliest <= now
	}
	return !slices.ContainsFunc(d.Kept, func(key string) bool { there, _ := may(key); return !there }) &&
		!slices.ContainsFunc(d.Lost, func(key string) bool { _, gone := may(key); return !gone })
}

// withPasts adds to picks those with the other pasts of a replica that is promoted before their commands.
func (s *search) withPasts(picks []pick) []pick {
	at := slices.IndexFunc(s.effects[s.nextEff:], dated.replaces)
	if at < 0 {
		return picks
	}
	promoted, pasts := s.effects[s.nextEff+at], 0
	for _, p := range picks[:len(picks):len(picks)] {
		if promoted.At > s.when(p) && !(p.after && at == 0) {
			continue
		}
		if pasts == 0 {
			pasts = len(s.pasts(promoted))
		}
		for past := 1; past < pasts; past++ {
			p.past = past
			picks = append(picks, p)
		}
	}
	return picks
}

// restored returns how many of the node's events are in the data that it got by an event; fromKeys: that is not known.
func (n *node) restored(e *event) int {
	switch {
	case !e.resets():
		return fromKeys
	case e.effect.Known:
		return n.after(e.effect.Turn)
	}
	return e.past
}
