package explain

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// ask executes a request once more, with parts put back into the data just before it, and returns
// its reply and its changes. own is what the node's clock shows.
func (r *run) ask(q *query, back []fate, without []part, own int64) (reply string, changes []history.DataChange) {
	ask := r.asks.Of(q.cmd)
	if ask == nil || r.srv == nil {
		return q.cmd.Reply, nil
	}
	base := time.Unix(0, r.Header.Epoch)
	now := base.Add(time.Duration(own))
	r.srv.Load(now, base, r.state(q, back, without, own))
	var raw []byte
	for _, words := range ask {
		raw = r.srv.Do(now, words)
	}
	got, _ := resp.ParseReply(raw)
	return got.Line(history.MaxReply), r.srv.Changed()
}

// own returns what a node's clock shows at an instant.
func (r *run) own(n *node, at int64) int64 { return r.clockAt(n.index, at).At(at) }

// clockAt returns a node's clock at an instant.
func (rec *Record) clockAt(node int, at int64) (c history.Clock) {
	for _, e := range effects.OfFaults(rec.Faults, node) {
		if e.At <= at {
			c = c.After(e)
		}
	}
	return c
}

// state returns a node's data before a request, with parts put back without an end, and without
// others.
func (r *run) state(q *query, back []fate, without []part, own int64) map[string]*history.Datum {
	state := map[string]*history.Datum{}
	for key := range q.node.byKey {
		d, by := q.node.value(key, q.pos)
		if d != nil && d.Until != 0 {
			until := d.Until + own - q.at
			if by >= 0 {
				until = r.clockAt(q.node.index, q.node.events[by].At).At(d.Until)
			}
			d = &history.Datum{Value: d.Value, Until: max(until, own+1_000_000)}
		}
		if d != nil {
			state[key] = d
		}
	}
	for _, f := range back {
		if v := withPart(state[f.key], f); v != nil {
			state[f.key] = v
		}
	}
	for _, p := range without {
		if state[p.key] = withoutPart(state[p.key], p.name); state[p.key] == nil {
			delete(state, p.key)
		}
	}
	return state
}

// withPart returns a value with a part as it was.
func withPart(v *history.Datum, f fate) *history.Datum {
	d := f.node.lastWith(f)
	if d == nil {
		return v
	}
	switch was := d.Value.(type) {
	case map[string]string:
		return &history.Datum{Value: with(v, f.name, f.text)}
	case map[string]bool:
		return &history.Datum{Value: with(v, f.name, true)}
	case map[string]float64:
		score, err := strconv.ParseFloat(f.text, 64)
		if err != nil {
			score = was[f.name]
		}
		return &history.Datum{Value: with(v, f.name, score)}
	case []string:
		var items []string
		if v != nil {
			items, _ = v.Value.([]string)
		}
		if !slices.Contains(items, f.name) {
			items = append([]string{f.name}, items...)
		}
		return &history.Datum{Value: items}
	}
	return &history.Datum{Value: f.text}
}

// with returns the parts of a value, if it is of that type, and one more.
func with[T any](v *history.Datum, name string, text T) map[string]T {
	out := map[string]T{name: text}
	if v != nil {
		had, _ := v.Value.(map[string]T)
		for n, t := range had {
			if n != name {
				out[n] = t
			}
		}
	}
	return out
}

// lastWith returns the value of a part's key before the event that ended it.
func (n *node) lastWith(f fate) *history.Datum {
	switch {
	case f.was != nil:
		return f.was
	case f.at < 0:
		v, _ := n.value(f.key, len(n.events))
		return v
	}
	return n.change(f.at, f.key).Before
}

// withoutPart returns a value without a part; nil: nothing is left.
func withoutPart(v *history.Datum, name string) *history.Datum {
	if v == nil || len(v.Parts()) < 2 {
		return nil
	}
	var left any
	switch had := v.Value.(type) {
	case map[string]string:
		left = without(had, name)
	case map[string]bool:
		left = without(had, name)
	case map[string]float64:
		left = without(had, name)
	case []string:
		left = slices.DeleteFunc(slices.Clone(had), func(item string) bool { return item == name })
	}
	return &history.Datum{Value: left, Until: v.Until}
}

func without[T any](parts map[string]T, name string) map[string]T {
	parts = maps.Clone(parts)
	delete(parts, name)
	return parts
}

// refused reports whether a try would not have been granted with parts put back. A request that
// wrote must write the same parts; one that only read must be replied the same, since its client
// decided by the reply.
//
// With the clock back, the request is executed by the time of the first's grant: a lock may end
// leases by itself.
func (p *pair) refused(try []query, back []fate, clockBack bool) bool {
	for i := range try {
		q := &try[i]
		its := slices.DeleteFunc(slices.Clone(back), func(f fate) bool { return f.node != q.node || f.at > q.pos })
		if len(its) == 0 {
			continue
		}
		own := p.own(q.node, q.at)
		if clockBack {
			own = p.own(q.node, p.first.granted)
		}
		reply, changes := p.ask(q, its, nil, own)
		if q.grants() {
			again := q.cmd.Script == "" && reply == q.cmd.Reply // it sets what is there
			if !again && !sets(changes, q.event) {
				return true
			}
			continue
		}
		if plain, _ := p.ask(q, nil, nil, own); reply != plain {
			return true
		}
	}
	return false
}
