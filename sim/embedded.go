package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockbench/lockbench/explain"
)

// A Server replays commands for explanations.
var _ explain.Server = (*Server)(nil)

// Load replaces everything that the server holds; what has ended by at is left out.
func (s *Server) Load(at time.Time, values map[string]*explain.Value) {
	d := dataset{entries: make([]entry, 0, len(values))}
	for key, v := range values {
		e := entry{key: key, kind: v.Kind, text: v.Text, fields: v.Fields, items: v.Items, scores: v.Scores}
		if v.Expires != 0 {
			e.expires = time.Unix(0, v.Expires)
		}
		d.entries = append(d.entries, e)
	}
	slices.SortFunc(d.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	s.node.load(d, at)
}

// Touched returns the keys that the last Do named, those of commands within its script included.
func (s *Server) Touched() []string { return s.node.touched }

// Value copies what a key holds; nil: there is none.
func (s *Server) Value(key string) *explain.Value {
	db := s.node.redis.DB(0)
	if !db.Exists(key) {
		return nil
	}
	e := entryOf(db, key, s.at)
	v := &explain.Value{Kind: e.kind, Text: e.text, Fields: e.fields, Items: e.items, Scores: e.scores}
	if !e.expires.IsZero() {
		v.Expires = e.expires.UnixNano()
	}
	return v
}
