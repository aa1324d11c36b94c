package sim

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/explain"
)

// dataset is a copy of all data of a node, with the instants (by the node's own clock) at which keys expire, as Redis writes them to disk and to
// replicas.
type dataset struct {
	entries []entry // in order of key
	at      time.Time
	turn    uint64 // of the last command or deletion that the node had executed
}

// entry is a key with its value.
type entry struct {
	key string
	explain.Value
}

// copy reads all data of the node at bubble time t.
func (n *node) copy(t time.Time) dataset {
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	d := dataset{at: t, turn: n.turn}
	for _, key := range db.Keys() {
		d.entries = append(d.entries, entry{key, valueOf(db, key, own)})
	}
	return d
}

// valueOf reads one key at a node's own time.
func valueOf(db *miniredis.RedisDB, key string, own time.Time) explain.Value {
	v := explain.Value{Kind: db.Type(key)}
	switch v.Kind {
	case "string":
		v.Text, _ = db.Get(key)
	case "hash":
		names, _ := db.HKeys(key)
		v.Fields = make(map[string]string, len(names))
		for _, f := range names {
			v.Fields[f] = db.HGet(key, f)
		}
	case "list":
		v.Items, _ = db.List(key)
		v.Items = slices.Clone(v.Items)
	case "set":
		v.Items, _ = db.Members(key)
	case "zset":
		scores, _ := db.SortedSet(key)
		v.Scores = maps.Clone(scores) // miniredis returns its own map
	}
	if left := db.TTL(key); left > 0 {
		v.Expires = own.Add(left).UnixNano()
	}
	return v
}

// load replaces all data of the node by a copy, leaving out what has expired meanwhile.
func (n *node) load(d dataset, t time.Time) {
	n.redis.FlushAll()
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	for _, e := range d.entries {
		if e.Expires != 0 && e.Expires <= own.UnixNano() {
			continue
		}
		switch e.Kind {
		case "string":
			_ = db.Set(e.key, e.Text) // fails only for a key of another type, and the node is empty
		case "hash":
			for _, f := range slices.Sorted(maps.Keys(e.Fields)) {
				db.HSet(e.key, f, e.Fields[f])
			}
		case "list":
			_, _ = db.Push(e.key, e.Items...)
		case "set":
			_, _ = n.redis.SetAdd(e.key, e.Items...)
		case "zset":
			for _, m := range slices.Sorted(maps.Keys(e.Scores)) {
				_, _ = db.ZAdd(e.key, e.Scores[m], m)
			}
		}
		if e.Expires != 0 {
			db.SetTTL(e.key, time.Unix(0, e.Expires).Sub(own))
		}
	}
}

// lostTo returns the keys of d, split by whether later has them.
func (d dataset) lostTo(later dataset) (kept, lost []string) {
	for _, e := range d.entries {
		if slices.ContainsFunc(later.entries, func(o entry) bool { return o.key == e.key }) {
			kept = append(kept, e.key)
		} else {
			lost = append(lost, e.key)
		}
	}
	return kept, lost
}

// holdsAs reports whether two nodes have the same keys with the same values, whatever their expiry times.
func (d dataset) holdsAs(other dataset) bool {
	return slices.EqualFunc(d.entries, other.entries, func(a, b entry) bool {
		a.Expires, b.Expires = 0, 0
		return reflect.DeepEqual(a, b)
	})
}

// digest returns a hash of the data and of their expiry times.
func (d dataset) digest() uint64 {
	h := uint64(hashStart)
	for _, e := range d.entries {
		h = mixText(mixText(mixText(h, e.key), e.Kind), e.Text)
		for _, f := range slices.Sorted(maps.Keys(e.Fields)) {
			h = mixText(mixText(h, f), e.Fields[f])
		}
		for _, i := range e.Items {
			h = mixText(h, i)
		}
		for _, m := range slices.Sorted(maps.Keys(e.Scores)) {
			h = mix(mixText(h, m), math.Float64bits(e.Scores[m]))
		}
		h = mix(h, uint64(len(e.Fields)+len(e.Items)+len(e.Scores)), uint64(e.Expires))
	}
	return h
}
