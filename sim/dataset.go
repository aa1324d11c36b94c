package sim

import (
	"hash/fnv"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// dataset is a copy of all that a node holds, with the instants (by the node's own clock) at which keys expire, as Redis
// writes them to disk and to replicas.
type dataset struct {
	entries []entry // in order of key
	at      time.Time
	turn    uint64 // of the last command that the node executed before
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

// copy reads everything the node holds at bubble time t.
func (n *node) copy(t time.Time) dataset {
	n.tick(t)
	db := n.redis.DB(0)
	own := n.clock.now(t)
	d := dataset{at: t, turn: n.turn}
	for _, key := range db.Keys() {
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
			e.scores = maps.Clone(scores) // miniredis gives the map in which it keeps them
		}
		if left := db.TTL(key); left > 0 {
			e.expires = own.Add(left)
		}
		d.entries = append(d.entries, e)
	}
	return d
}

// load replaces everything the node holds by a copy; what has expired meanwhile is left out.
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

// lostTo gives the keys that d has, by whether later has them.
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

// holdsAs tells whether two nodes hold the same keys with the same values, whenever these end.
func (d dataset) holdsAs(other dataset) bool {
	return slices.EqualFunc(d.entries, other.entries, func(a, b entry) bool {
		a.expires, b.expires = time.Time{}, time.Time{}
		return reflect.DeepEqual(a, b)
	})
}

// digest is a hash of the data, with what is left of each lease rounded to grain: states that differ by less are one to a
// search that prunes.
func (d dataset) digest(own time.Time, grain time.Duration) uint64 {
	h := fnv.New64a()
	put := func(parts ...string) {
		for _, p := range parts {
			_, _ = io.WriteString(h, p)
			_, _ = h.Write([]byte{0})
		}
	}
	for _, e := range d.entries {
		put(e.key, e.kind, e.text)
		for _, f := range slices.Sorted(maps.Keys(e.fields)) {
			put(f, e.fields[f])
		}
		put(e.items...)
		for _, m := range slices.Sorted(maps.Keys(e.scores)) {
			put(m, strconv.FormatFloat(e.scores[m], 'g', -1, 64))
		}
		if !e.expires.IsZero() {
			put(strconv.FormatInt(int64(e.expires.Sub(own)/grain), 10))
		}
	}
	return h.Sum64()
}
