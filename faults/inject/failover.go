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
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	return w.cfg.Servers.SetReplication(ctx, node, false)
}

func (w *World) Failover(ctx context.Context, node int) (had string, e history.Effect, err error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return w.afterCut(ctx, node)
	}
	return w.atOnce(ctx, node)
}

// heir returns the number of the replica that is promoted in place of a primary.
func (w *World) heir(node int) int {
	return node + w.cfg.Servers.Topology().Primaries(w.cfg.Servers.Len())
}

// atOnce kills the primary without reading it first, since any read would give the replica time to
// catch up. The primary's data are then unknown. If the fault is injected at the first grant of a
// run, a key on the replica belongs to that grant.
func (w *World) atOnce(ctx context.Context, node int) (had string, e history.Effect, err error) {
	if err := w.cfg.Servers.Kill(ctx, node); err != nil {
		return "", e, err
	}
	if err := w.cfg.Servers.SetReplication(ctx, node, false); err != nil {
		return "", e, err
	}
	if has, err := w.contents(ctx, w.heir(node)); err == nil {
		had, e = history.ReplicaHad(len(has) > 0), promoted(has, has)
	}
	err = w.cfg.Servers.Promote(ctx, node)
	return had, e, err
}

// afterCut compares the data of the two nodes, which only clients of the primary can still change,
// and then kills the primary.
func (w *World) afterCut(ctx context.Context, node int) (had string, e history.Effect, err error) {
	lock, err := w.contents(ctx, node)
	if kerr := w.cfg.Servers.Kill(ctx, node); kerr != nil {
		return "", e, kerr
	}
	if has, rerr := w.contents(ctx, w.heir(node)); err == nil && rerr == nil {
		if e = promoted(lock, has); len(lock) > 0 {
			had = history.ReplicaHad(maps.Equal(lock, has))
		}
	}
	err = w.cfg.Servers.Promote(ctx, node)
	return had, e, err
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
