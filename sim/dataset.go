package sim

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// dataset is a copy of all data of a node, with the instants (by the node's own clock) at which keys expire, as Redis writes them to disk and to
// replicas.
type dataset struct {
	entries []entry // in order of key
	at      time.Time
	turn    uint64 // of the last command that the node had executed
}

type entry struct {
	key     string
	kind    string
	text    string
	fields  map[string]string
	items   []string
	scores  map[string]float64
	expires time.Time // zero = never
}

// copy reads all data of the node at bubble time t.
func (n *node) copy(t time.Time) dataset {
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	d := dataset{at: t, turn: n.turn}
	for _, key := range db.Keys() {
		d.entries = append(d.entries, entryOf(db, key, own))
	}
	return d
}

// entryOf reads one key at a node's own time.
func entryOf(db *miniredis.RedisDB, key string, own time.Time) entry {
	e := entry{key: key, kind: db.Type(key)}
	switch e.kind {
	case "string":
		e.text, _ = db.Get(key)
	case "hash":
		names, _ := db.HKeys(key)
		e.fields = make(map[string]string, len(names))
		for _, f := range names {
			e.fields[f] = db.HGet(key, f)
		}
	case "list":
		e.items, _ = db.List(key)
		e.items = slices.Clone(e.items)
	case "set":
		e.items, _ = db.Members(key)
	case "zset":
		scores, _ := db.SortedSet(key)
		e.scores = maps.Clone(scores) // miniredis returns its own map
	}
	if left := db.TTL(key); left > 0 {
		e.expires = own.Add(left)
	}
	return e
}

// load replaces all data of the node by a copy, leaving out what has expired meanwhile.
func (n *node) load(d dataset, t time.Time) {
	n.redis.FlushAll()
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	for _, e := range d.entries {
		if !e.expires.IsZero() && !e.expires.After(own) {
			continue
		}
		switch e.kind {
		case "string":
			_ = db.Set(e.key, e.text) // fails only for a key of another type, and the node is empty
		case "hash":
			for _, f := range slices.Sorted(maps.Keys(e.fields)) {
				db.HSet(e.key, f, e.fields[f])
			}
		case "list":
			_, _ = db.Push(e.key, e.items...)
		case "set":
			_, _ = n.redis.SetAdd(e.key, e.items...)
		case "zset":
			for _, m := range slices.Sorted(maps.Keys(e.scores)) {
				_, _ = db.ZAdd(e.key, e.scores[m], m)
			}
		}
		if !e.expires.IsZero() {
			db.SetTTL(e.key, e.expires.Sub(own))
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
		a.expires, b.expires = time.Time{}, time.Time{}
		return reflect.DeepEqual(a, b)
	})
}

// digest returns a hash of the data and of their expiry times.
func (d dataset) digest() uint64 {
	h := uint64(hashStart)
	for _, e := range d.entries {
		h = mixText(mixText(mixText(h, e.key), e.kind), e.text)
		for _, f := range slices.Sorted(maps.Keys(e.fields)) {
			h = mixText(mixText(h, f), e.fields[f])
		}
		for _, i := range e.items {
			h = mixText(h, i)
		}
		for _, m := range slices.Sorted(maps.Keys(e.scores)) {
			h = mix(mixText(h, m), math.Float64bits(e.scores[m]))
		}
		h = mix(mix(h, uint64(len(e.fields)+len(e.items)+len(e.scores))), instant(e.expires))
	}
	return h
}
