package inject

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

func (w *World) CutReplication(ctx context.Context, node int) error {
	w.cut.Store(true)
	return w.cfg.Servers.SetReplication(ctx, node, false)
}

// Failover first compares the data of the two nodes if replication was cut: then only clients of
// the primary can still change them. While it flows, any read of the primary would give the replica
// time to catch up, and the primary's data are not known; if the fault is injected at the first
// grant of a run, a key on the replica belongs to that grant.
func (w *World) Failover(ctx context.Context, node int) (had string, e history.Effect, err error) {
	all := w.cfg.Servers
	cut := w.cut.Load()
	var lock map[string]string
	var unread error
	if cut {
		lock, unread = w.contents(ctx, node)
	}
	if err := all.Kill(ctx, node); err != nil {
		return "", e, err
	}
	if !cut {
		if err := all.SetReplication(ctx, node, false); err != nil {
			return "", e, err
		}
	}
	heir := node + all.Topology().Primaries(all.Len())
	switch has, err := w.contents(ctx, heir); {
	case unread != nil || err != nil:
	case !cut:
		had, e = history.ReplicaHad(len(has) > 0), promoted(has, has)
	default:
		if e = promoted(lock, has); len(lock) > 0 {
			had = history.ReplicaHad(maps.Equal(lock, has))
		}
	}
	return had, e, all.Promote(ctx, node)
}

// promoted returns the effect on the lock's keys when a primary that held lock was replaced by a
// replica that holds has.
func promoted(lock, has map[string]string) history.Effect {
	e := history.Effect{What: history.Promoted}
	for _, key := range slices.Sorted(maps.Keys(lock)) {
		if _, kept := has[key]; kept {
			e.Kept = append(e.Kept, key)
		} else {
			e.Lost = append(e.Lost, key)
		}
	}
	return e
}

// contents returns the lock's keys on a node, each with its value as DUMP returns it, which
// excludes the expiry time.
func (w *World) contents(ctx context.Context, node int) (map[string]string, error) {
	keys, err := w.cfg.Keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c, err := servers.Admin(ctx, w.cfg.Servers, node)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if w.cfg.Servers.Topology() == impls.Cluster { // its replicas send others away, unless they are asked to answer
		if err := c.Do(ctx, "READONLY").Err(); err != nil {
			return nil, fmt.Errorf("READONLY: %w", err)
		}
	}
	has := map[string]string{}
	for _, key := range keys {
		dump, err := c.Dump(ctx, key).Result()
		if err != nil && err != redis.Nil { // a lease that has expired meanwhile
			return nil, fmt.Errorf("DUMP %q: %w", key, err)
		}
		if err == nil {
			has[key] = dump
		}
	}
	return has, nil
}
