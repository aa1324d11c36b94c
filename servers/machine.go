package servers

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/history"
)

// machine runs one redis-server, as a process or a container.
//
// One goroutine at a time calls start, kill, pause and resume, which return once confirmed (start,
// before the server answers). The others are for all.
type machine interface {
	start(ctx context.Context) error
	kill(ctx context.Context) error
	pause(ctx context.Context) error
	resume(ctx context.Context) error
	close() error // ends the server in any state, for good

	addr() string                    // host:port for clients; "" while it is down
	peer() (string, int)             // host and port for the other servers
	identity() history.Server        // image and process id
	alive(ctx context.Context) error // why the server ended; nil if it runs
	clockPath() string               // the file of its shifted clock; "" without one
	dataDir() string                 // the server's directory on this machine; "" if there is none
}

type state string

const (
	running state = "running"
	paused  state = "paused"
	dead    state = "dead"
	closed  state = "closed" // for good
)

type node struct {
	machine
	name string

	mu    sync.Mutex // held during a fault, so that there is one at a time; protects state and clock
	state state
	clock shift
}

// dial connects to the node's present address. It does not dial the port of a node that is down,
// which another process may use by now.
func (n *node) dial(ctx context.Context) (net.Conn, error) {
	addr := n.addr()
	if addr == "" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s is down: %w", n.name, syscall.ECONNREFUSED)}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func (n *node) do(ctx context.Context, words ...any) (any, error) {
	reply, err := do(ctx, n.dial, words...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	return reply, nil
}

func (n *node) isRunning() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state == running
}

// up starts the server, and waits until it answers and has loaded its data.
func (n *node) up(ctx context.Context) error {
	if err := n.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	err := poll(ctx, "answer", func() (bool, error) {
		if err := n.alive(ctx); err != nil {
			return false, err
		}
		fields, err := infoFields(ctx, n.dial, "everything")
		if err != nil || fields["loading"] != "0" {
			return false, nil
		}
		// Another server may have taken the port between freePort and the start.
		if pid := n.identity().PID; pid != 0 && fields["process_id"] != strconv.Itoa(pid) {
			return false, ErrPortTaken
		}
		err = n.alive(ctx) // one that ended meanwhile, for want of the port, has no process to compare with
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", n.name, err)
	}
	n.state = running
	return nil
}

// poll is poll, with the node's name in the error.
func (n *node) poll(ctx context.Context, what string, done func() (bool, error)) error {
	if err := poll(ctx, what, done); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

const (
	pollFirst  = time.Millisecond
	pollMost   = 50 * time.Millisecond
	pollAtMost = 30 * time.Second // unless the caller's context ends earlier
)

// poll calls done until it returns true or an error, or the time is up. The error then has what.
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
