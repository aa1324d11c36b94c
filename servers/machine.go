package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// machine runs one redis-server: a process or a container. What a fleet does with its machines is the same for both.
//
// start, kill, pause and resume are called by one goroutine at a time and return once their effect is confirmed, except that
// start returns as soon as the server runs, which is before it answers. The others may be called at any time.
type machine interface {
	start(ctx context.Context) error
	kill(ctx context.Context) error
	pause(ctx context.Context) error
	resume(ctx context.Context) error
	close() error // gone for good when it returns, whatever state it was in

	addr() string                    // host:port for clients; "" while it is down
	peer() (string, int)             // host and port at which the other servers reach it
	identity() NodeInfo              // what can be said without asking the server: image, process id
	alive(ctx context.Context) error // why the server is gone, if it is
	clockPath() string               // the file of its shifted clock; "" without one
}

// state is what has been done to a node.
type state string

const (
	running state = "running"
	paused  state = "paused"
	dead    state = "dead"
	closed  state = "closed" // for good
)

// node is a machine with a number, a name and a state.
type node struct {
	machine
	name string

	mu    sync.Mutex // held during a fault, so that a node suffers one at a time; protects state and clock
	state state
	clock shift
}

// dial connects to the node's present address. A node that is down refuses, as its port would: the port itself is not asked,
// because it may belong to somebody else by now.
func (n *node) dial(ctx context.Context) (net.Conn, error) {
	addr := n.addr()
	if addr == "" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s is down: %w", n.name, syscall.ECONNREFUSED)}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// expect says whether the node is in one of the states that a fault starts from.
func (n *node) expect(fault string, states ...state) error {
	for _, s := range states {
		if n.state == s {
			return nil
		}
	}
	return fmt.Errorf("%s %s: it is %s: %w", fault, n.name, n.state, ErrState)
}

// isRunning is for looking at a node from outside a fault.
func (n *node) isRunning() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state == running
}

// up starts the machine and waits until it answers.
func (n *node) up(ctx context.Context) error {
	if err := n.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	if err := n.waitAnswering(ctx); err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	n.state = running
	return nil
}

// waitAnswering returns when the server answers, has loaded its data, and is the one that was started.
func (n *node) waitAnswering(ctx context.Context) error {
	return poll(ctx, "answer", func() (bool, error) {
		if err := n.alive(ctx); err != nil {
			return false, err
		}
		fields, err := infoFields(ctx, n.dial, "everything")
		if err != nil || fields["loading"] != "0" {
			return false, nil
		}
		// Somebody else's server may have taken the port in the moment between our choosing it and our binding it.
		if pid := n.identity().PID; pid != 0 && fields["process_id"] != strconv.Itoa(pid) {
			return false, errPortTaken
		}
		return true, nil
	})
}

const (
	pollFirst  = time.Millisecond
	pollMost   = 50 * time.Millisecond
	pollAtMost = 30 * time.Second // where the caller's context sets no earlier end
)

// poll asks until done says yes, done fails, or time is up. It says what it waited for.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, pollAtMost)
	defer cancel()
	for wait := pollFirst; ; wait = min(2*wait, pollMost) {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for it to %s: %w", what, ctx.Err())
		case <-time.After(wait):
		}
	}
}
