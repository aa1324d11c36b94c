package explain

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// ask executes a request once more, with parts put back into the data just before it, and returns
// its reply and its changes. ahead is how far the node's clock is ahead.
func (r *run) ask(q *query, back []fate, without []part, ahead int64) (reply string, changes []change) {
	ask := r.asks.of(q.cmd)
	if ask == nil || r.srv == nil {
		return q.cmd.Reply, nil
	}
	m := machine{srv: r.srv, epoch: r.Header.Epoch, values: r.state(q, back, without, ahead)}
	reply, changes = m.do(ask, q.at, ahead)
	return reply, changes
}

// ahead returns how far a node's clock was ahead at an instant.
func (r *run) ahead(n *node, at int64) int64 { return r.clockAt(n.index, at).Ahead(at) }

// clockAt returns a node's clock at an instant.
func (rec *Record) clockAt(node int, at int64) (c history.Clock) {
	for _, e := range rec.effectsOn(node) {
		if e.At <= at {
			c = c.After(e)
		}
	}
	return c
}

// state returns a node's data before a request, with parts put back without an end, and without
// others.
func (r *run) state(q *query, back []fate, without []part, ahead int64) map[string]*Value {
	values := map[string]*Value{}
	for key := range q.node.byKey {
		d, by := q.node.value(key, q.pos)
		if d == nil {
			continue
		}
		v := valueOf(d)
		if d.Until != 0 {
			until := d.Until + ahead
			if by >= 0 {
				until = r.clockAt(q.node.index, q.node.events[by].At).At(d.Until)
			}
			v.Expires = max(until, q.at+ahead+1_000_000) + r.Header.Epoch
		}
		values[key] = v
	}
	for _, f := range back {
		if v := withPart(values[f.key], f); v != nil {
			values[f.key] = v
		}
	}
	for _, p := range without {
		if v := withoutPart(values[p.key], p.name); v == nil {
			delete(values, p.key)
		} else {
			values[p.key] = v
		}
	}
	return values
}

// withPart returns a value with a part as it was.
func withPart(v *Value, f fate) *Value {
	d := f.node.lastWith(f)
	if d == nil {
		return v
	}
	was := valueOf(d)
	if v == nil || v.Kind != was.Kind || v.Kind == "string" {
		v = &Value{Kind: was.Kind}
	}
	o := *v
	o.Expires = 0
	switch was.Kind {
	case "string":
		o.Text = f.text
	case "hash":
		o.Fields = maps.Clone(v.Fields)
		if o.Fields == nil {
			o.Fields = map[string]string{}
		}
		o.Fields[f.name] = f.text
	case "list", "set":
		if !slices.Contains(v.Items, f.name) {
			o.Items = append([]string{f.name}, v.Items...)
		}
	case "zset":
		o.Scores = maps.Clone(v.Scores)
		if o.Scores == nil {
			o.Scores = map[string]float64{}
		}
		o.Scores[f.name] = was.Scores[f.name]
		if score, err := strconv.ParseFloat(f.text, 64); err == nil {
			o.Scores[f.name] = score
		}
	}
	return &o
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
func withoutPart(v *Value, name string) *Value {
	if v == nil || v.Kind == "string" {
		return nil
	}
	o := *v
	o.Fields, o.Scores = maps.Clone(v.Fields), maps.Clone(v.Scores)
	delete(o.Fields, name)
	delete(o.Scores, name)
	o.Items = slices.DeleteFunc(slices.Clone(v.Items), func(item string) bool { return item == name })
	if len(o.Fields)+len(o.Scores)+len(o.Items) == 0 {
		return nil
	}
	return &o
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
		ahead := p.ahead(q.node, q.at)
		if clockBack {
			ahead = p.ahead(q.node, p.first.granted) - (q.at - p.first.granted)
		}
		reply, changes := p.ask(q, its, nil, ahead)
		if q.grants() {
			if !sets(changes, q.event) {
				return true
			}
			continue
		}
		if plain, _ := p.ask(q, nil, nil, ahead); reply != plain {
			return true
		}
	}
	return false
}

// grants reports whether a request set something.
func (q *query) grants() bool {
	return q.event != nil && slices.ContainsFunc(q.event.Changes, func(c history.DataChange) bool { return len(set(&c)) > 0 })
}

// sets reports whether changes set all parts that an event set.
func sets(changes []change, e *event) bool {
	again := map[part]bool{}
	for _, c := range changes {
		d := history.DataChange{Key: c.key, Before: datum(c.before), After: datum(c.after)}
		for p := range set(&d) {
			again[p] = true
		}
	}
	for i := range e.Changes {
		for p := range set(&e.Changes[i]) {
			if !again[p] {
				return false
			}
		}
	}
	return true
}
