package fakeredis

import (
	"maps"
	"slices"
	"time"

	"github.com/lockbench/lockbench/history"
)

// A node mirrors its data outside miniredis: after a command it reads the keys that the command may
// have written, and so knows what changed. Leases end in the mirror by the same clock.

// mirror is the data of a node as they were after the last command, and what has changed since
// Changed and Ended were last called.
type mirror struct {
	data    Data
	soonest int64                // no lease ends before this instant of the node's clock; 0: there is none
	wrote   []string             // keys that the command under way may have changed
	did     []history.DataChange // by the last command
	ended   []history.DataChange // leases that ended, in order
}

// removeAll removes all keys, as part of a command.
func (n *Node) removeAll() {
	db := n.redis.DB(0)
	keys := db.Keys()
	for _, key := range keys {
		db.Del(key) // emptying the database would not change watched keys
	}
	n.wrote = append(n.wrote, keys...)
}

// Empty removes all keys and returns them, by name.
func (n *Node) Empty(t time.Time) (keys []string) {
	n.Tick(t)
	n.removeAll()
	keys = slices.Clone(n.wrote)
	n.sync(t)
	return keys
}

// SetField sets a field of a hash outside every command, as if it had always been there.
func (n *Node) SetField(key, field, value string, t time.Time) {
	n.Tick(t)
	n.redis.DB(0).HSet(key, field, value)
	n.wrote = append(n.wrote, key)
	n.sync(t)
	n.did = nil
}

// Field returns a field of a hash; "": there is none.
func (n *Node) Field(key, field string) string {
	if v := n.data[key]; v != nil {
		fields, _ := v.Value.(map[string]string)
		return fields[field]
	}
	return ""
}

// Changed returns what the commands since the last call have changed, in order.
func (n *Node) Changed() []history.DataChange {
	changes := n.did
	n.did = nil
	return changes
}

// Unread reports whether Changed would return something.
func (n *Node) Unread() bool { return len(n.did) > 0 }

// Ended returns the leases that have ended since the last call, in order.
func (n *Node) Ended() []history.DataChange {
	ended := n.ended
	n.ended = nil
	return ended
}

// sync brings the mirror up to date after a command that ran at bubble time t.
func (n *Node) sync(t time.Time) {
	if len(n.wrote) == 0 || n.serves {
		n.wrote = n.wrote[:0]
		return
	}
	db, own := n.redis.DB(0), n.clock.Now(t)
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
func (n *Node) put(key string, v *Entry) {
	if v == nil {
		delete(n.data, key)
		return
	}
	n.data[key] = v
	if v.Expires != 0 && (n.soonest == 0 || v.Expires < n.soonest) {
		n.soonest = v.Expires
	}
}

// retimed returns a value with the instant at which it ends by true time.
func (n *Node) retimed(v *Entry) *Entry {
	until := int64(0)
	if v.Expires != 0 {
		until = int64(n.clock.when(time.Unix(0, v.Expires)).Sub(n.base))
	}
	if v.Until == until {
		return v
	}
	return &Entry{history.Datum{Value: v.Value, Until: until}, v.Expires}
}

// retime corrects, after the clock was set, when leases end by true time, and returns what changed.
func (n *Node) retime() []history.DataChange {
	before := maps.Clone(n.data)
	for key, v := range n.data {
		n.data[key] = n.retimed(v)
	}
	return Difference(before, n.data)
}

// when returns the first instant at which the node's clock shows own or more. A clock that stands
// still shows it never.
func (c Clock) when(own time.Time) time.Time {
	if c.Rate == 1 {
		return own.Add(-c.Offset)
	}
	if c.Rate <= 0 {
		return c.Since.Add(never)
	}
	t := c.Since.Add(time.Duration(float64(own.Sub(c.Since.Add(c.Offset))) / c.Rate))
	for !c.Now(t.Add(-1)).Before(own) {
		t = t.Add(-1)
	}
	for c.Now(t).Before(own) {
		t = t.Add(1)
	}
	return t
}

// never is later than any end of a run.
const never = 100 * 365 * 24 * time.Hour
