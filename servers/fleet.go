package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// fleet is a deployment of servers that lockbench started. Processes and containers differ only in
// the machine.
type fleet struct {
	spec      Spec
	nodes     []*node
	workspace io.Closer  // closed after the machines
	logs      []*nodeLog // by the number under which clients know the node; nil: not recorded
	sentinels *Sentinels // nil: the topology has none

	mu      sync.Mutex // guards the roles of replicated servers
	roles   []int      // by the number under which clients know a server, the server; a failover exchanges two
	flowing bool

	closing  sync.Once
	closeErr error
}

var _ Deployment = (*fleet)(nil)

// launch makes the machines of a deployment, starts all concurrently and forms the topology. It
// closes everything if that fails.
//
// newMachine makes machine i: a server, or with a number after the servers' a sentinel. known is
// the address by which the others know it, and of a sentinel that of the first primary; "" in a
// topology without sentinels.
func launch(
	ctx context.Context, spec Spec, workspace io.Closer, newMachine func(i int, known string) (machine, error),
) (_ Deployment, err error) {
	f := &fleet{spec: spec, workspace: workspace, flowing: true}
	if err = f.makeMachines(newMachine); err == nil {
		if spec.Log && f.sentinels == nil { // with sentinels, they begin when the replicas have copied the primary
			for _, n := range f.nodes[:spec.Topology.Primaries(len(f.nodes))] {
				f.logs = append(f.logs, &nodeLog{parts: []logPart{{dir: n.logDir(), to: -1}}})
			}
		}
		err = f.each(func(n *node) error { return n.up(ctx) })
	}
	if err == nil {
		switch spec.Topology {
		case impls.Replicated:
			err = f.followAll(ctx, 0)
		case impls.Cluster:
			err = f.formCluster(ctx)
		case impls.Sentinel:
			err = f.formSentinels(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *fleet) makeMachines(newMachine func(i int, known string) (machine, error)) error {
	if f.spec.Topology == impls.Sentinel {
		f.sentinels = &Sentinels{fleet: f, apart: map[int]int{}, balanced: map[net.Conn]balanced{}}
	}
	for i := range f.spec.Nodes {
		known := ""
		if f.sentinels != nil {
			b, err := newBarrier()
			if err != nil {
				return err
			}
			f.sentinels.barriers, known = append(f.sentinels.barriers, b), b.addr()
		}
		m, err := newMachine(i, known)
		if err != nil {
			return err
		}
		n := &node{machine: m, name: fmt.Sprintf("%s-%d", f.spec.Name, i), state: dead}
		f.nodes, f.roles = append(f.nodes, n), append(f.roles, i)
		if f.sentinels != nil {
			f.sentinels.barriers[i].serve(n.dial)
		}
	}
	for i := 0; f.sentinels != nil && i < sentinelCount; i++ {
		m, err := newMachine(f.spec.Nodes+i, f.sentinels.Known(0))
		if err != nil {
			return err
		}
		n := &node{machine: m, name: fmt.Sprintf("%s-sentinel-%d", f.spec.Name, i), state: dead}
		f.sentinels.nodes = append(f.sentinels.nodes, n)
	}
	return nil
}

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

func (f *fleet) Topology() impls.Topology { return f.spec.Topology }

func (f *fleet) Sentinels() *Sentinels { return f.sentinels }

func (f *fleet) Len() int { return len(f.nodes) }

// byRole returns the node to which Dial(i) connects.
func (f *fleet) byRole(i int) (*node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i >= 0 && i < len(f.roles) {
		i = f.roles[i]
	}
	return f.byNumber(i)
}

func (f *fleet) byNumber(i int) (*node, error) {
	if err := inRange(i, len(f.nodes)); err != nil {
		return nil, err
	}
	return f.nodes[i], nil
}

func inRange(node, count int) error {
	if node < 0 || node >= count {
		return fmt.Errorf("node %d: there are %d, from 0", node, count)
	}
	return nil
}

func (f *fleet) Addr(i int) string {
	n, err := f.byRole(i)
	if err != nil {
		return ""
	}
	return n.addr()
}

func (f *fleet) Dial(ctx context.Context, i int) (net.Conn, error) {
	n, err := f.byRole(i)
	if err != nil {
		return nil, err
	}
	return n.dial(ctx)
}

func (f *fleet) Info(ctx context.Context) ([]history.Server, error) {
	infos := make([]history.Server, len(f.nodes))
	errs := make([]error, len(f.nodes))
	for i, n := range f.nodes {
		n.mu.Lock()
		if n.state == running {
			infos[i] = n.identity()
			errs[i] = describe(ctx, n.dial, &infos[i])
		}
		n.mu.Unlock()
		infos[i].Name = history.Node(i).String()
	}
	return infos, errors.Join(errs...)
}

func (f *fleet) FlushScripts(ctx context.Context, i int) error {
	_, err := do(ctx, to(f, i), "SCRIPT", "FLUSH")
	return err
}

func (f *fleet) Keys(ctx context.Context, i int, prefix string) (keys []string, err error) {
	a, err := Admin(ctx, f, i)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	scan := a.Scan(ctx, 0, "*"+prefix+"*", scanCount).Iterator()
	for scan.Next(ctx) {
		if impls.Under(prefix, scan.Val()) {
			keys = append(keys, scan.Val())
		}
	}
	return keys, scan.Err()
}

const scanCount = 1000

func (f *fleet) DeleteKeys(ctx context.Context, i int, keys ...string) error {
	return deleteKeys(ctx, to(f, i), keys)
}

// Close ends every machine and removes its files. It takes no context: it must work after a
// cancelled run.
func (f *fleet) Close() error {
	f.closing.Do(func() {
		var errs []error
		if s := f.sentinels; s != nil {
			if s.stop != nil {
				s.stop()
			}
			s.looks.Wait()
			for _, n := range s.nodes {
				n.state = closed
				errs = append(errs, n.close())
			}
			for _, b := range s.barriers {
				errs = append(errs, b.close())
			}
		}
		errs = append(errs, f.each(func(n *node) error {
			n.state = closed
			return n.close()
		}), f.workspace.Close())
		f.closeErr = errors.Join(errs...)
	})
	return f.closeErr
}
