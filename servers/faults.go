package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/impls"
)

// on applies a fault to machine i, one fault at a time. It returns ErrState unless the machine is
// in one of the states; none means any.
func (f *fleet) on(i int, what string, fault func(*node) error, states ...state) error {
	n, err := f.byNumber(i)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(states) > 0 && !slices.Contains(states, n.state) {
		return fmt.Errorf("%s %s: it is %s: %w", what, n.name, n.state, ErrState)
	}
	return fault(n)
}

// change is on for a fault that leads to another state.
func (f *fleet) change(i int, what string, to state, fault func(*node) error, states ...state) error {
	return f.on(i, what, func(n *node) error {
		if err := fault(n); err != nil {
			return fmt.Errorf("%s %s: %w", what, n.name, err)
		}
		n.state = to
		return nil
	}, states...)
}

func (f *fleet) Kill(ctx context.Context, i int) error {
	return f.change(i, "kill", dead, func(n *node) error { return n.kill(ctx) }, running, paused)
}

func (f *fleet) Restart(ctx context.Context, i int) error {
	if err := inRange(i, len(f.nodes)); err != nil {
		return err
	}
	var log *nodeLog // of the node that the machine is for clients; nil for a replica, and if there are no logs
	f.mu.Lock()      // before the node is locked, as Promote does
	if number := slices.Index(f.roles, i); number < len(f.logs) {
		log = f.logs[number]
	}
	f.mu.Unlock()
	restart := func(n *node) error { return errors.Join(f.restartLog(n, log), n.up(ctx)) }
	if err := f.on(i, "restart", restart, dead); err != nil {
		return err
	}
	switch f.spec.Topology { // the server's address may have changed
	case impls.Replicated:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.flowing && f.nodes[f.roles[0]].isRunning() { // else replication is cut, or its source down
			return f.followAll(ctx, 0)
		}
	case impls.Cluster:
		return f.rejoinCluster(ctx, i)
	}
	return nil
}

func (f *fleet) Pause(ctx context.Context, i int) error {
	return f.change(i, "pause", paused, func(n *node) error { return n.pause(ctx) }, running)
}

func (f *fleet) Resume(ctx context.Context, i int) error {
	return f.change(i, "resume", running, func(n *node) error {
		if n.state == running {
			return nil
		}
		return n.resume(ctx)
	}, running, paused)
}
