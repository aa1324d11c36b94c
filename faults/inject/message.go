package inject

import (
	"context"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Traffic decides what becomes of requests and replies on their way through a Proxy. Its methods are called in the goroutine that
// carries the connection, which waits for them. A message of which they return false never arrives, and its connection is cut.
type Traffic interface {
	Request(m *Message) (pass bool)
	Reply(m *Message) (pass bool) // the last reply to a request that passed; m is the same
}

// Message is a request on its way through the proxy, and later its reply.
type Message struct {
	Command history.Command // with its reply when that is there
	Write   bool            // the command writes
	Label   string          // by what a step of a schedule names it

	client    int
	operation faults.Operation
	step      int // of a schedule, that the request was; 0 = none
	lost      bool
	holds     []chan struct{}
	gone      <-chan struct{} // closed when its connection has ended
}

var _ faults.Message = (*Message)(nil)

// Client is the number of the client, from 1.
func (m *Message) Client() int { return m.client }

// Node is the number of the node, from 0; -1 for the guarded store's own server.
func (m *Message) Node() int { return m.Command.Node }

// Lose makes it not arrive.
func (m *Message) Lose() { m.lost = true }

// Hold makes it wait until release is called, once.
func (m *Message) Hold() (release func()) {
	hold := make(chan struct{})
	m.holds = append(m.holds, hold)
	return func() { close(hold) }
}

// wait waits until nothing holds the message; false when its connection has ended first.
func (m *Message) wait() bool {
	for _, hold := range m.holds {
		select {
		case <-hold:
		case <-m.gone:
			return false
		}
	}
	m.holds = nil
	return true
}

// Watched is the Traffic of a run whose Director has faults of single messages.
type Watched struct {
	Context  context.Context // of the run: what passes a connection carries none
	Director *faults.Director
}

var _ Traffic = Watched{}

// Request does what is placed at a request.
func (w Watched) Request(m *Message) bool {
	m.operation = w.Director.Plan().Operation(m.client, m.Node() < 0)
	return w.strike(m, faults.Underway)
}

// Reply does what is placed at a reply.
func (w Watched) Reply(m *Message) bool { return w.strike(m, faults.Answered) }

func (w Watched) strike(m *Message, s faults.Stage) bool {
	w.Director.Event(w.Context, faults.Event{Kind: faults.Messages, Client: m.client, Stage: s, Operation: m.operation, Command: &m.Command, Write: m.Write}, m)
	if !m.wait() {
		w.Director.Release(m)
		return false
	}
	return !m.lost
}

// free reports whether nothing holds the message.
func (m *Message) free() bool {
	for _, hold := range m.holds {
		select {
		case <-hold:
		default:
			return false
		}
	}
	return true
}
