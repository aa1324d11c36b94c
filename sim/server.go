package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/explain"
)

// Server is a single simulated node, for comparisons with a real one: it answers one request at a time, by the caller's clock, and has no network.
// It is not safe for concurrent use.
type Server struct {
	node    *node
	session *session
	at      time.Time // of the last request
}

// NewServer starts an empty node. The caller closes it. An error comes from miniredis.
func NewServer() (*Server, error) {
	n, err := newNode(0)
	if err != nil {
		return nil, err
	}
	n.reset(time.Now())
	n.replays = true
	n.lua.openJSON()
	return &Server{node: n, session: n.newSession(nil)}, nil
}

// Do runs one request at an instant and returns its reply in wire form, valid until the next call. It does not support subscriptions, which need a
// network. A blocking command without data replies at once, as after its time-out.
func (s *Server) Do(at time.Time, args []string) []byte {
	s.at, s.node.touched = at, s.node.touched[:0]
	name := strings.ToUpper(args[0])
	if _, blocks := blocking[name]; !blocks || s.session.tx != nil {
		return s.node.execute(s.session, args, at)
	}
	args = upper(name, args)
	if text := s.node.refusal(name, args, toConn); text != "" {
		return failure(text)
	}
	if _, text := timeout(args); text != "" {
		return failure(text)
	}
	s.node.tick(at)
	reply, _ := s.node.take(s.session, args)
	return reply
}

// Close closes the node.
func (s *Server) Close() { s.node.close() }

// A Server replays commands for explanations.
var _ explain.Server = (*Server)(nil)

// Load replaces all data of the server, leaving out what has expired by at.
func (s *Server) Load(at time.Time, values map[string]*explain.Value) {
	d := dataset{entries: make([]entry, 0, len(values))}
	for key, v := range values {
		d.entries = append(d.entries, entry{key, *v})
	}
	slices.SortFunc(d.entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	s.node.load(d, at)
}

// Touched returns the keys that the last Do named, including those of commands in its script.
func (s *Server) Touched() []string { return s.node.touched }

// Value copies what a key holds; nil: there is none.
func (s *Server) Value(key string) *explain.Value {
	db := s.node.redis.DB(0)
	if !db.Exists(key) {
		return nil
	}
	v := valueOf(db, key, s.at)
	return &v
}
