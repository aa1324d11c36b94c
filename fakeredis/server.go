package fakeredis

import (
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
)

// Server is a single node with one session, for comparisons with a real server and to execute
// recorded commands again. It supports no subscriptions, and executes some commands that a Node
// refuses because nobody has compared them with Redis: whoever replays a record compares each
// reply.
type Server struct {
	*Node
	session *Session
}

// New starts an empty server, which the caller closes. An error is miniredis'.
func New() (*Server, error) {
	n, err := NewNode()
	if err != nil {
		return nil, err
	}
	n.Reset(time.Now())
	n.replays = true
	n.lua.openJSON()
	return &Server{n, n.NewSession(nil)}, nil
}

// Do runs one request at an instant and returns its reply in wire form, valid until the next call.
// A command that waits for data replies at once, as after its time-out.
func (s *Server) Do(at time.Time, args []string) []byte {
	n := s.Node
	n.touched, n.did, n.ended = n.touched[:0], nil, nil
	name := strings.ToUpper(args[0])
	if !Blocks(name) || s.session.tx != nil {
		return n.Execute(s.session, args, at)
	}
	args = upper(name, args)
	if _, _, refusal := n.Waits(args); refusal != nil {
		return refusal
	}
	reply, _ := n.Take(s.session, args, at)
	return reply
}

// Touched returns the keys that the last Do named, including those of commands in its script; there
// may be duplicates.
func (s *Server) Touched() []string { return s.touched }

// Pardon forgets and returns the command that the server refused to execute, as [Node.Refused].
func (s *Server) Pardon() (refused string) {
	refused, s.refused = s.refused, ""
	return refused
}

// Load replaces all data by those of a record at an instant, leaving out what has expired by then.
// base is what the server's clock shows at the record's instant 0; Do's instants are of that clock.
func (s *Server) Load(at, base time.Time, data map[string]*history.Datum) {
	d := make(Data, len(data))
	for key, v := range data {
		e := &Entry{Datum: *v}
		if v.Until != 0 {
			e.Expires = base.Add(time.Duration(v.Until)).UnixNano()
		}
		d[key] = e
	}
	s.base = base
	s.SetData(at, d)
}

// SetData replaces all data, leaving out what has expired by an instant.
func (s *Server) SetData(at time.Time, d Data) {
	s.mirror = mirror{}
	s.Node.Load(d, at)
}

// Entry returns what a key holds; nil: there is none.
func (s *Server) Entry(key string) *Entry { return s.data[key] }
