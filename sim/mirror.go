package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// A node mirrors its data outside miniredis: after a command it reads the keys that the command may
// have written, and so knows what changed. Leases end in the mirror by the same clock.

// mirror is the data of a node as they were after the last command, and what has changed since the
// world last asked.
type mirror struct {
	data    map[string]*entry
	soonest int64                // no lease ends before this instant of the node's clock; 0: there is none
	wrote   []string             // keys that the command under way may have changed
	did     []history.DataChange // by the last command
	ended   []history.DataChange // leases that ended, in order
}

// writes notes the keys that a command may change.
func (n *node) writes(name string, args []string) {
	if resp.IsWrite(name) {
		n.wrote = append(n.wrote, resp.Keys(args)...)
	}
}

// removeAll removes all keys, as part of a command.
func (n *node) removeAll() {
	db := n.redis.DB(0)
	keys := db.Keys()
	for _, key := range keys {
		db.Del(key) // emptying the database would not change watched keys
	}
	n.wrote = append(n.wrote, keys...)
}

// empty removes and returns all keys.
func (n *node) empty(t time.Time) (keys []string) {
	n.tick(t)
	n.removeAll()
	keys = slices.Clone(n.wrote)
	n.sync(t)
	return keys
}

// setField sets a field of a hash outside every command.
func (n *node) setField(key, field, value string, t time.Time) {
	n.tick(t)
	n.redis.DB(0).HSet(key, field, value)
	n.wrote = append(n.wrote, key)
	n.sync(t)
	n.did = nil
}

// changed returns what the last command changed, once.
func (n *node) changed() []history.DataChange {
	changes := n.did
	n.did = nil
	return changes
}

// sync brings the mirror up to date after a command that ran at bubble time t.
func (n *node) sync(t time.Time) {
	if len(n.wrote) == 0 {
		return
	}
	db, own := n.redis.DB(0), n.clock.now(t)
	for i, key := range n.wrote {
		if slices.Contains(n.wrote[:i], key) {
			continue
		}
		before, after := n.data[key], n.read(db, key, own)
		if before != after {
			n.put(key, after)
			n.did = append(n.did, changeOf(key, before, after))
		}
	}
	n.wrote = n.wrote[:0]
}

// put sets a key of the mirror; nil: there is none.
func (n *node) put(key string, v *entry) {
	if v == nil {
		delete(n.data, key)
		return
	}
	n.data[key] = v
	if v.expires != 0 && (n.soonest == 0 || v.expires < n.soonest) {
		n.soonest = v.expires
	}
}

// endLeases removes from the mirror what has expired by the node's own clock.
func (n *node) endLeases(own int64) {
	if n.soonest == 0 || own < n.soonest {
		return
	}
	n.soonest = 0
	var over []string
	for key, v := range n.data {
		switch {
		case v.expires == 0:
		case v.expires <= own:
			over = append(over, key)
		case n.soonest == 0 || v.expires < n.soonest:
			n.soonest = v.expires
		}
	}
	slices.SortFunc(over, func(a, b string) int {
		return cmp.Or(cmp.Compare(n.data[a].expires, n.data[b].expires), strings.Compare(a, b))
	})
	for _, key := range over {
		n.ended = append(n.ended, changeOf(key, n.data[key], nil))
		delete(n.data, key)
	}
}

// retimed returns a value with the instant at which it ends by true time.
func (n *node) retimed(v *entry) *entry {
	until := int64(0)
	if v.expires != 0 {
		until = int64(n.clock.when(time.Unix(0, v.expires)).Sub(n.base))
	}
	if v.Until == until {
		return v
	}
	return &entry{history.Datum{Value: v.Value, Until: until}, v.expires}
}

// retime corrects, after the clock was set, when leases end by true time, and returns what changed.
func (n *node) retime() []history.DataChange {
	before := maps.Clone(n.data)
	for key, v := range n.data {
		n.data[key] = n.retimed(v)
	}
	return difference(before, n.data)
}

// when returns the first instant at which the node's clock shows own or more. A clock that stands
// still shows it never.
func (c nodeClock) when(own time.Time) time.Time {
	if c.rate == 1 {
		return own.Add(-c.offset)
	}
	if c.rate <= 0 {
		return c.since.Add(never)
	}
	t := c.since.Add(time.Duration(float64(own.Sub(c.since.Add(c.offset))) / c.rate))
	for !c.now(t.Add(-1)).Before(own) {
		t = t.Add(-1)
	}
	for c.now(t).Before(own) {
		t = t.Add(1)
	}
	return t
}

// never is later than any end of a run.
const never = 100 * 365 * 24 * time.Hour
