package explain

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// fate is what became of a part of a mark before an event of its node.
type fate struct {
	part
	text string // what it had been
	node *node
	at   int            // the event that ended it; -1: it was still there
	by   end            // what kind of event that is
	was  *history.Datum // the value with the part on the node where it was made, of a node that never had it
}

// end is how a mark ended.
type end string

// The ends of a mark, beside the effects of faults, which go by their names.
const (
	never    end = "never made"
	there    end = "there"
	expired  end = history.Expired
	byItself end = "by its own client"
	freed    end = "by another's release or renewal"
	taken    end = "by another's acquire"
	lapsed   end = "by something else, but its lease would have ended it, too"
	apart    end = "on another primary"

	strangers end = "by somebody who was not recorded" // which no row names
)

// time returns when a mark ended; those that did not come last.
func (f *fate) time() int64 {
	if f.at < 0 {
		return math.MaxInt64
	}
	return f.node.events[f.at].At
}

// ask executes a request once more, with parts put back into the data just before it and others
// taken out, and returns its reply and its changes. own is what the node's clock shows.
func (r *run) ask(q *query, back []fate, without []part, own int64) (reply string, changes []history.DataChange) {
	ask := r.asks.Of(q.cmd)
	if ask == nil || r.srv == nil {
		return q.cmd.Reply, nil
	}
	base := time.Unix(0, r.Header.Epoch)
	now := base.Add(time.Duration(own))
	state := map[string]*history.Datum{} // parts that are put back have no end
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
	r.srv.Load(now, base, state)
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
