package sim

import (
	"strings"
	"time"
)

// Server is one simulated node by itself, for comparisons with a real one: it answers one request at a time, by the caller's clock,
// and knows no network. It is for one goroutine.
type Server struct {
	node    *node
	session *session
	at      time.Time // of the last request
}

// NewServer starts an empty node. Close ends it. The error is that of the server inside.
func NewServer() (*Server, error) {
	n, err := newNode(0)
	if err != nil {
		return nil, err
	}
	n.reset(time.Now())
	n.named = true
	return &Server{node: n, session: n.newSession(nil)}, nil
}

// Do runs one request at an instant, and gives its reply as it would go over the wire; it is good until the next call.
// Subscriptions need a network and are not for Do. What waits for data answers at once as it does when its time is over.
func (s *Server) Do(at time.Time, args []string) []byte {
	s.at, s.node.touched = at, s.node.touched[:0]
	name := strings.ToUpper(args[0])
	if _, blocks := blocking[name]; !blocks || s.session.tx != nil {
		return s.node.execute(s.session, args, at)
	}
	args = upper(name, args)
	if _, text := timeout(args); text != "" {
		return []byte("-" + text + "\r\n")
	}
	s.node.tick(at)
	reply, _ := s.node.take(s.session, args)
	return reply
}

// Close returns the node up.
func (s *Server) Close() { s.node.close() }
