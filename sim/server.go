package sim

import "time"

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
// Subscriptions need a network and are not for Do.
func (s *Server) Do(at time.Time, args []string) []byte {
	s.at, s.node.touched = at, s.node.touched[:0]
	return s.node.execute(s.session, args, at)
}

// Close gives the node up.
func (s *Server) Close() { s.node.close() }
