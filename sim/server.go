package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
)

// Server is a single simulated node, for comparisons with a real one: it answers one request at a time, by the caller's clock, and has no network.
// It is not safe for concurrent use.
type Server struct {
	node    *node
	session *session
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
	s.node.touched, s.node.did, s.node.ended = s.node.touched[:0], nil, nil
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
	s.node.sync(at)
	return reply
}

// Close closes the node.
func (s *Server) Close() { s.node.close() }

// A Server replays commands for explanations.
var _ explain.Server = (*Server)(nil)

// Load replaces all data of the server, leaving out what has expired by at.
func (s *Server) Load(at time.Time, values map[string]*explain.Value) {
	d := dataset{data: make(map[string]*entry, len(values))}
	for key, v := range values {
		d.data[key] = &entry{Datum: history.Datum{Value: dataIn(v)}, expires: v.Expires}
	}
	s.node.mirror = mirror{}
	s.node.load(d, at)
}

// dataIn returns the data of a value as a record has them.
func dataIn(v *explain.Value) any {
	switch v.Kind {
	case "hash":
		return v.Fields
	case "list":
		return v.Items
	case "zset":
		return v.Scores
	case "set":
		members := map[string]bool{}
		for _, m := range v.Items {
			members[m] = true
		}
		return members
	}
	return v.Text
}

// Touched returns the keys that the last Do named, including those of commands in its script.
func (s *Server) Touched() []string { return s.node.touched }

// Value returns what a key holds; nil: there is none.
func (s *Server) Value(key string) *explain.Value {
	v := s.node.data[key]
	if v == nil {
		return nil
	}
	out := explain.Value{Expires: v.expires}
	switch data := v.Value.(type) {
	case string:
		out.Kind, out.Text = "string", data
	case map[string]string:
		out.Kind, out.Fields = "hash", data
	case []string:
		out.Kind, out.Items = "list", data
	case map[string]bool:
		out.Kind, out.Items = "set", slices.Sorted(maps.Keys(data))
	case map[string]float64:
		out.Kind, out.Scores = "zset", data
	}
	return &out
}
