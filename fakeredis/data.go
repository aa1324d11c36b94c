package fakeredis

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/history"
)

// Data are all keys of a node with their values.
type Data map[string]*Entry

// Entry is the value of a key. It is never changed, so that copies of the data and the changes that
// are recorded share it.
type Entry struct {
	history.Datum
	// by the node's own clock, in nanoseconds since 1970, as Redis writes it to disk and to
	// replicas; 0 = never
	Expires int64
}

// Copy returns all data of the node at an instant.
func (n *Node) Copy(t time.Time) Data {
	n.Tick(t)
	return maps.Clone(n.data)
}

// Load replaces all data of the node, leaving out what has expired by an instant.
func (n *Node) Load(d Data, t time.Time) {
	n.Tick(t)
	n.redis.FlushAll()
	n.data, n.soonest = make(Data, len(d)), 0
	db := n.redis.DB(0)
	own := n.clock.Now(t)
	for _, key := range slices.Sorted(maps.Keys(d)) {
		v := d[key]
		if v.Expires != 0 && v.Expires <= own.UnixNano() {
			continue
		}
		switch value := v.Value.(type) { // the errors of these are those of a key of another type
		case string:
			_ = db.Set(key, value)
		case map[string]string:
			for _, f := range slices.Sorted(maps.Keys(value)) {
				db.HSet(key, f, value[f])
			}
		case []string:
			_, _ = db.Push(key, value...)
		case map[string]bool:
			_, _ = db.SetAdd(key, slices.Sorted(maps.Keys(value))...)
		case map[string]float64:
			for _, m := range slices.Sorted(maps.Keys(value)) {
				_, _ = db.ZAdd(key, value[m], m)
			}
		}
		if v.Expires != 0 {
			db.SetTTL(key, time.Unix(0, v.Expires).Sub(own))
		}
		n.put(key, n.retimed(v))
	}
}

// read returns the value of a key of miniredis; nil: none. If it is what n.data has, it returns
// that.
func (n *Node) read(db *miniredis.RedisDB, key string, own time.Time) *Entry {
	kind, was := db.Type(key), n.data[key]
	if kind == "" {
		return nil
	}
	v := Entry{}
	switch kind {
	case "string":
		text, _ := db.Get(key)
		v.Value = text
	case "hash":
		names, _ := db.HKeys(key)
		fields := make(map[string]string, len(names))
		for _, f := range names {
			fields[f] = db.HGet(key, f)
		}
		v.Value = fields
	case "list":
		items, _ := db.List(key)
		v.Value = slices.Clone(items)
	case "set":
		items, _ := db.Members(key)
		members := make(map[string]bool, len(items))
		for _, m := range items {
			members[m] = true
		}
		v.Value = members
	case "zset":
		scores, _ := db.SortedSet(key)
		v.Value = maps.Clone(scores) // miniredis returns its own map
	}
	if left := db.TTL(key); left > 0 {
		v.Expires = own.Add(left).UnixNano()
	}
	if was != nil && was.Expires == v.Expires && sameValue(was.Value, v.Value) {
		return was
	}
	return n.retimed(&v)
}

func sameValue(a, b any) bool {
	if text, ok := a.(string); ok {
		other, too := b.(string)
		return too && text == other
	}
	return reflect.DeepEqual(a, b)
}

// SameValues reports whether two nodes have the same keys with the same values, whatever their
// expiry times.
func (d Data) SameValues(other Data) bool {
	return maps.EqualFunc(d, other, func(a, b *Entry) bool { return sameValue(a.Value, b.Value) })
}

// Difference returns what changed from one set of data to another, by key.
func Difference(before, after Data) (changes []history.DataChange) {
	for key, v := range before {
		if now := after[key]; now == nil || now.Until != v.Until || !sameValue(now.Value, v.Value) {
			changes = append(changes, changeOf(key, v, now))
		}
	}
	for key, v := range after {
		if before[key] == nil {
			changes = append(changes, changeOf(key, nil, v))
		}
	}
	slices.SortFunc(changes, func(a, b history.DataChange) int { return strings.Compare(a.Key, b.Key) })
	return changes
}

func changeOf(key string, before, after *Entry) history.DataChange {
	c := history.DataChange{Key: key}
	if before != nil {
		c.Before = &before.Datum
	}
	if after != nil {
		c.After = &after.Datum
	}
	return c
}
