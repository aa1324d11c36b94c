package servers

import (
	"context"
	"fmt"
	"net"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/impls"
)

// Miniredis runs servers inside this process. It is not Redis: its latencies mean nothing, and it has no server faults.
type Miniredis struct{}

var _ surveyor = Miniredis{}

func miniFaults() refuser { return refuser{"miniredis is not Redis; use a redis-server or Docker"} }

const miniredisVersion = "miniredis (not Redis)"

// Name returns "miniredis".
func (Miniredis) Name() string { return "miniredis" }

// Available returns nil.
func (Miniredis) Available(context.Context) error { return nil }

func (Miniredis) found(context.Context) (string, error) { return miniredisVersion, nil }

func (Miniredis) ability(_ context.Context, name string) error {
	return miniFaults().only(name, string(impls.Standalone), string(impls.Independent), canFlush, canDelete)
}

// Start starts standalone or independent servers on 127.0.0.1.
func (Miniredis) Start(_ context.Context, spec Spec) (Deployment, error) {
	spec, err := spec.fill()
	if err != nil {
		return nil, err
	}
	d := &minis{refuser: miniFaults(), spec: spec}
	if err := d.checkSpec(spec); err != nil {
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

type minis struct {
	refuser
	spec  Spec
	nodes []*miniredis.Miniredis
}

func (d *minis) Topology() impls.Topology { return d.spec.Topology }

func (d *minis) Len() int { return len(d.nodes) }

func (d *minis) Addr(i int) string {
	if i < 0 || i >= len(d.nodes) {
		return ""
	}
	return d.nodes[i].Addr()
}

func (d *minis) Dial(ctx context.Context, i int) (net.Conn, error) {
	if err := inRange(i, d.Len()); err != nil {
		return nil, err
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", d.Addr(i))
}

func (d *minis) Info(context.Context) ([]NodeInfo, error) {
	infos := make([]NodeInfo, len(d.nodes))
	for i := range infos {
		infos[i] = NodeInfo{Name: fmt.Sprintf("%s-%d", d.spec.Name, i), Version: miniredisVersion}
	}
	return infos, nil
}

func (d *minis) FlushScripts(ctx context.Context, i int) error { return flushScripts(ctx, to(d, i)) }

func (d *minis) Keys(ctx context.Context, i int, prefix string) ([]string, error) {
	return scanKeys(ctx, to(d, i), prefix)
}

func (d *minis) DeleteKeys(ctx context.Context, i int, keys ...string) error {
	return deleteKeys(ctx, to(d, i), keys)
}

func (d *minis) Close() error {
	for _, m := range d.nodes {
		m.Close()
	}
	return nil
}

func to(d Deployment, i int) dialer {
	return func(ctx context.Context) (net.Conn, error) { return d.Dial(ctx, i) }
}
