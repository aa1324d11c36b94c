package faults

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// evictKeys fills a node's memory until it has evicted what the lock keeps there.
type evictKeys struct{}

func (evictKeys) Name() string { return EvictKeys }

func (evictKeys) Available(f Field) error {
	if f.Servers != nil && f.Servers.Topology() == impls.Cluster {
		return fmt.Errorf("%w: a cluster's nodes take no keys but those of their slots", servers.ErrRefused)
	}
	return needKeys(f)
}

// Inject is confirmed when the server counts an eviction of the lock's keys, all of which were seen to be gone: clients that go on meanwhile may
// have deleted the others, and taken them again.
func (evictKeys) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	e := Effect{Node: oneNode(s)}
	keys, err := f.Keys(ctx, e.Node)
	if err != nil {
		return e, err
	}
	evicted, err := f.Servers.EvictKeys(ctx, e.Node, keys...)
	e.Confirmed = err == nil && evicted > 0
	e.Note = fmt.Sprintf("%d keys of the lock, %d evictions of them", len(keys), evicted)
	return e, err
}
