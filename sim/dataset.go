package sim

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/history"
)

// dataset is a copy of all data of a node.
type dataset struct {
	data map[string]*entry
	turn uint64 // of the last command or deletion that the node had executed
}

// entry is the value of a key. It is never changed, so that copies of the data and the changes that
// are recorded share it.
type entry struct {
	history.Datum
	expires int64 // by the node's own clock, in nanoseconds since 1970, as Redis writes it to disk and to replicas; 0 = never
}

// copy returns all data of the node at bubble time t.
func (n *node) copy(t time.Time) dataset {
	n.tick(t)
	return dataset{data: maps.Clone(n.data), turn: n.turn}
}

// load replaces all data of the node by a copy, leaving out what has expired meanwhile.
func (n *node) load(d dataset, t time.Time) {
	n.tick(t)
	n.redis.FlushAll()
	n.data, n.soonest = make(map[string]*entry, len(d.data)), 0
	db := n.redis.DB(0)
	own := n.clock.now(t)
	for _, key := range slices.Sorted(maps.Keys(d.data)) {
		v := d.data[key]
		if v.expires != 0 && v.expires <= own.UnixNano() {
			continue
		}
		n.write(db, key, v, own)
		n.put(key, n.retimed(v))
	}
}

// write gives a key of miniredis, which does not exist, a value. Its errors are those of another type.
func (n *node) write(db *miniredis.RedisDB, key string, v *entry, own time.Time) {
	switch value := v.Value.(type) {
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
	if v.expires != 0 {
		db.SetTTL(key, time.Unix(0, v.expires).Sub(own))
	}
}

// read returns the value of a key of miniredis; nil: none. If it is what n.data has, it returns that.
func (n *node) read(db *miniredis.RedisDB, key string, own time.Time) *entry {
	kind, was := db.Type(key), n.data[key]
	if kind == "" {
		return nil
	}
	v := entry{}
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
		v.expires = own.Add(left).UnixNano()
	}
	if was != nil && was.expires == v.expires && sameValue(was.Value, v.Value) {
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

// lostTo returns the keys of d, split by whether later has them.
func (d dataset) lostTo(later dataset) (kept, lost []string) {
	for _, key := range slices.Sorted(maps.Keys(d.data)) {
		if later.data[key] != nil {
			kept = append(kept, key)
		} else {
			lost = append(lost, key)
		}
	}
	return kept, lost
}

// holdsAs reports whether two nodes have the same keys with the same values, whatever their expiry times.
func (d dataset) holdsAs(other dataset) bool {
	return maps.EqualFunc(d.data, other.data, func(a, b *entry) bool { return sameValue(a.Value, b.Value) })
}

// difference returns what changed from one set of data to another, by key.
func difference(before, after map[string]*entry) (changes []history.DataChange) {
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

func changeOf(key string, before, after *entry) history.DataChange {
	c := history.DataChange{Key: key}
	if before != nil {
		c.Before = &before.Datum
	}
	if after != nil {
		c.After = &after.Datum
	}
	return c
}

// digest returns a hash of the data and of their expiry times.
func (d dataset) digest() uint64 {
	h := uint64(hashStart)
	for _, key := range slices.Sorted(maps.Keys(d.data)) {
		v, size := d.data[key], 0
		h = mixText(h, key)
		switch value := v.Value.(type) {
		case string:
			h = mixText(mix(h, 1), value)
		case map[string]string:
			h, size = mix(h, 2), len(value)
			for _, f := range slices.Sorted(maps.Keys(value)) {
				h = mixText(mixText(h, f), value[f])
			}
		case []string:
			h, size = mix(h, 3), len(value)
			for _, i := range value {
				h = mixText(h, i)
			}
		case map[string]bool:
			h, size = mix(h, 4), len(value)
			for _, m := range slices.Sorted(maps.Keys(value)) {
				h = mixText(h, m)
			}
		case map[string]float64:
			h, size = mix(h, 5), len(value)
			for _, m := range slices.Sorted(maps.Keys(value)) {
				h = mix(mixText(h, m), math.Float64bits(value[m]))
			}
		}
		h = mix(h, uint64(size), uint64(v.expires))
	}
	return h
}
