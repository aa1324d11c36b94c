package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/lockbench/lockbench/impls"
)

// fleet is a deployment of servers that lockbench itself started. Processes and containers differ only in the machine.
type fleet struct {
	spec      Spec
	nodes     []*node
	workspace io.Closer // what must be gone after Close besides the machines

	mu      sync.Mutex // protects the roles of a replicated pair
	primary int
	flowing bool

	closing  sync.Once
	closeErr error
}

var _ Deployment = (*fleet)(nil)

// launch starts all machines at once, forms the topology, and closes everything again if that fails.
func launch(ctx context.Context, spec Spec, workspace io.Closer, build func(i int) machine) (Deployment, error) {
	f := &fleet{spec: spec, workspace: workspace, flowing: true}
	for i := range spec.Nodes {
		f.nodes = append(f.nodes, &node{machine: build(i), name: fmt.Sprintf("%s-%d", spec.Name, i), state: dead})
	}
	err := f.each(func(n *node) error { return n.up(ctx) })
	if err == nil {
		err = f.form(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// each does one thing to all nodes at once and waits for all of them.
func (f *fleet) each(do func(*node) error) error {
	errs := make([]error, len(f.nodes))
	var all sync.WaitGroup
	for i, n := range f.nodes {
		all.Go(func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			errs[i] = do(n)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// form makes the topology out of servers that answer.
func (f *fleet) form(ctx context.Context) error {
	switch f.spec.Topology {
	case impls.Replicated:
		return f.follow(ctx, 1, 0)
	case impls.Cluster:
		return f.formCluster(ctx)
	}
	return nil
}

// Topology is what was asked for.
func (f *fleet) Topology() impls.Topology { return f.spec.Topology }

// Len is the number of nodes.
func (f *fleet) Len() int { return len(f.nodes) }

// byRole finds the node that connections with this number lead to.
func (f *fleet) byRole(i int) (*node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spec.Topology == impls.Replicated && f.primary == 1 {
		i = 1 - i
	}
	return f.byNumber(i)
}

// byNumber finds the machine with this number.
func (f *fleet) byNumber(i int) (*node, error) {
	if i < 0 || i >= len(f.nodes) {
		return nil, fmt.Errorf("node %d: there are %d, from 0", i, len(f.nodes))
	}
	return f.nodes[i], nil
}

// Addr is the present address, "" while the node is down.
func (f *fleet) Addr(i int) string {
	n, err := f.byRole(i)
	if err != nil {
		return ""
	}
	return n.addr()
}

// Dial connects to the present address.
func (f *fleet) Dial(ctx context.Context, i int) (net.Conn, error) {
	n, err := f.byRole(i)
	if err != nil {
		return nil, err
	}
	return n.dial(ctx)
}

// Info asks every node that runs.
func (f *fleet) Info(ctx context.Context) ([]NodeInfo, error) {
	infos := make([]NodeInfo, len(f.nodes))
	errs := make([]error, len(f.nodes))
	for i, n := range f.nodes {
		n.mu.Lock()
		infos[i].Name = n.name
		if n.state == running {
			infos[i] = n.identity()
			infos[i].Name = n.name
			errs[i] = describe(ctx, n.dial, &infos[i])
		}
		n.mu.Unlock()
	}
	return infos, errors.Join(errs...)
}

// FlushScripts makes the node forget its scripts.
func (f *fleet) FlushScripts(ctx context.Context, i int) error {
	n, err := f.byRole(i)
	if err != nil {
		return err
	}
	return flushScripts(ctx, n.dial)
}

// Keys lists the keys of a node that lie under a prefix.
func (f *fleet) Keys(ctx context.Context, i int, prefix string) ([]string, error) {
	n, err := f.byRole(i)
	if err != nil {
		return nil, err
	}
	return scanKeys(ctx, n.dial, prefix)
}

// DeleteKeys deletes keys behind everybody's back. Keys that are not there are no error.
func (f *fleet) DeleteKeys(ctx context.Context, i int, keys ...string) error {
	n, err := f.byRole(i)
	if err != nil {
		return err
	}
	return deleteKeys(ctx, n.dial, keys)
}

// Close ends every machine and removes what belonged to it. It needs no context: a cancelled run must be cleared away too.
func (f *fleet) Close() error {
	f.closing.Do(func() {
		f.closeErr = errors.Join(f.each(func(n *node) error {
			n.state = closed
			return n.close()
		}), f.workspace.Close())
	})
	return f.closeErr
}

// flushScripts confirms that SCRIPT FLUSH was done.
func flushScripts(ctx context.Context, dial dialer) error {
	_, err := do(ctx, dial, "SCRIPT", "FLUSH")
	return err
}
