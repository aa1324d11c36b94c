package servers

import (
	"context"
	"fmt"
	"net"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/impls"
)

// Miniredis serves from inside this process, with a running clock. It is not Redis: it is what is left when there is none.
// No latency measured against it means anything, and no server fault can be had.
type Miniredis struct{}

var _ surveyor = Miniredis{}

// miniFaults refuses what miniredis cannot do.
func miniFaults() refuser { return refuser{"miniredis is not Redis; use a redis-server or Docker"} }

// MiniredisVersion is what Info says in place of a Redis version.
const MiniredisVersion = "miniredis (not Redis)"

// Name is "miniredis".
func (Miniredis) Name() string { return "miniredis" }

// Available is always nil.
func (Miniredis) Available(context.Context) error { return nil }

func (Miniredis) found(context.Context) (string, error) { return MiniredisVersion, nil }

func (Miniredis) ability(_ context.Context, name string) error {
	return miniFaults().only(name, string(impls.Standalone), string(impls.Independent), CanFlush, CanDelete)
}

// Start serves on ports of 127.0.0.1. It has standalone and independent nodes only.
func (Miniredis) Start(_ context.Context, spec Spec) (Deployment, error) {
	spec, err := spec.fill()
	if err != nil {
		return nil, err
	}
	d := &minis{refuser: miniFaults(), spec: spec}
	if err := d.needless(spec); err != nil {
		return nil, err
	}
	if spec.Topology != impls.Standalone && spec.Topology != impls.Independent {
		return nil, d.refuse(string(spec.Topology))
	}
	for range spec.Nodes {
		m := miniredis.NewMiniRedis()
		m.ClockTTL(true)
		if err := m.Start(); err != nil {
			d.Close()
			return nil, fmt.Errorf("start miniredis: %w", err)
		}
		d.nodes = append(d.nodes, m)
	}
	return d, nil
}

// minis is a set of miniredis servers.
type minis struct {
	refuser
	spec  Spec
	nodes []*miniredis.Miniredis
}

// Topology is what was asked for.
func (d *minis) Topology() impls.Topology { return d.spec.Topology }

// Len is the number of nodes.
func (d *minis) Len() int { return len(d.nodes) }

// Addr does not change.
func (d *minis) Addr(i int) string {
	if i < 0 || i >= len(d.nodes) {
		return ""
	}
	return d.nodes[i].Addr()
}

// Dial connects.
func (d *minis) Dial(ctx context.Context, i int) (net.Conn, error) { return dialIndex(ctx, d, i) }

// Info says that this is not Redis.
func (d *minis) Info(context.Context) ([]NodeInfo, error) {
	infos := make([]NodeInfo, len(d.nodes))
	for i := range infos {
		infos[i] = NodeInfo{Name: fmt.Sprintf("%s-%d", d.spec.Name, i), Version: MiniredisVersion}
	}
	return infos, nil
}

// FlushScripts makes the node forget its scripts.
func (d *minis) FlushScripts(ctx context.Context, i int) error { return flushScripts(ctx, to(d, i)) }

// Keys lists the keys of a node that lie under a prefix.
func (d *minis) Keys(ctx context.Context, i int, prefix string) ([]string, error) {
	return scanKeys(ctx, to(d, i), prefix)
}

// DeleteKeys deletes keys behind everybody's back.
func (d *minis) DeleteKeys(ctx context.Context, i int, keys ...string) error {
	return deleteKeys(ctx, to(d, i), keys)
}

// Close stops serving.
func (d *minis) Close() error {
	for _, m := range d.nodes {
		m.Close()
	}
	return nil
}

// dialIndex connects to a node by its address.
func dialIndex(ctx context.Context, d Deployment, i int) (net.Conn, error) {
	if i < 0 || i >= d.Len() {
		return nil, fmt.Errorf("node %d: there are %d, from 0", i, d.Len())
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", d.Addr(i))
}

// to is a dialer for one node.
func to(d Deployment, i int) dialer {
	return func(ctx context.Context) (net.Conn, error) { return d.Dial(ctx, i) }
}
