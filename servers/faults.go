package servers

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/impls"
)

// on applies a fault to machine i, one fault at a time.
func (f *fleet) on(i int, fault func(*node) error) error {
	n, err := f.byNumber(i)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return fault(n)
}

func (f *fleet) Kill(ctx context.Context, i int) error {
	return f.on(i, func(n *node) error {
		if err := n.expect("kill", running, paused); err != nil {
			return err
		}
		if err := n.kill(ctx); err != nil {
			return fmt.Errorf("kill %s: %w", n.name, err)
		}
		n.state = dead
		return nil
	})
}

func (f *fleet) Restart(ctx context.Context, i int) error {
	err := f.on(i, func(n *node) error {
		if err := n.expect("restart", dead); err != nil {
			return err
		}
		return n.up(ctx)
	})
	if err != nil {
		return err
	}
	return f.rejoin(ctx, i)
}

// rejoin restores the topology after a restart, as the server's address may have changed.
func (f *fleet) rejoin(ctx context.Context, i int) error {
	switch f.spec.Topology {
	case impls.Replicated:
		return f.rejoinPair(ctx)
	case impls.Cluster:
		return f.rejoinCluster(ctx, i)
	}
	return nil
}

func (f *fleet) Pause(ctx context.Context, i int) error {
	return f.on(i, func(n *node) error {
		if err := n.expect("pause", running); err != nil {
			return err
		}
		if err := n.pause(ctx); err != nil {
			return fmt.Errorf("pause %s: %w", n.name, err)
		}
		n.state = paused
		return nil
	})
}

func (f *fleet) Resume(ctx context.Context, i int) error {
	return f.on(i, func(n *node) error {
		if n.state == running {
			return nil
		}
		if err := n.expect("resume", paused); err != nil {
			return err
		}
		if err := n.resume(ctx); err != nil {
			return fmt.Errorf("resume %s: %w", n.name, err)
		}
		n.state = running
		return nil
	})
}
