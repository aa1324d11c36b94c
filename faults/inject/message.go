package inject

import (
	"context"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Traffic decides what becomes of requests and replies on their way through a Proxy. Its methods
// run in the goroutine that carries the connection, and block it. If they return false, the message
// is lost and its connection cut.
type Traffic interface {
	Request(m *Message) (pass bool)
	Reply(m *Message) (pass bool) // the last reply to a request that passed; m is the same
}

// Message is a request on its way through the proxy, and later its reply.
type Message struct {
	Command history.Command // without its arguments; with its reply once that has arrived
	Write   bool            // the command writes
	Label   string          // the name by which a step of a schedule identifies it
	holds

	client    int
	operation faults.Operation
	step      int // ID of the request's step in the schedule; 0 = none
	lost      bool
	met       faults.Stage    // the last at which the faults placed at it were applied
	gone      <-chan struct{} // closed when its connection has ended
}

var _ faults.Message = (*Message)(nil)

// Client is the number of the client, from 1.
func (m *Message) Client() int { return m.client }

// Node is the number of the node, from 0; -1 for the guarded store's own server.
func (m *Message) Node() int { return m.Command.Node }

// Lose drops the message.
func (m *Message) Lose() { m.lost = true }

// meet applies the faults placed at a message.
func (m *Message) meet(ctx context.Context, d *faults.Director, s faults.Stage) {
	if m.met = s; s == faults.Underway {
		m.operation = d.Plan().Operation(m.client, m.Node() < 0)
	}
	d.Event(ctx, faults.Event{Kind: faults.Messages, Client: m.client, Stage: s, Operation: m.operation, Command: &m.Command, Write: m.Write}, m)
}

// Watched is the Traffic of a run whose Director has faults of single messages.
type Watched struct {
	Context  context.Context // of the run: connections carry no context
	Director *faults.Director
}

var _ Traffic = Watched{}

// Request applies the faults placed at a request.
func (w Watched) Request(m *Message) bool { return w.apply(m, faults.Underway) }

// Reply applies the faults placed at a reply.
func (w Watched) Reply(m *Message) bool { return w.apply(m, faults.Answered) }

func (w Watched) apply(m *Message, s faults.Stage) bool {
	m.meet(w.Context, w.Director, s)
	if !m.Wait(nil, m.gone) {
		w.Director.Release(m)
		return false
	}
	return !m.lost
}
