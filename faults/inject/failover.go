package inject

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/servers"
)

// The nodes of a pair by role, and the one that is killed by its number.
const (
	thePrimary = 0
	theReplica = 1
)

// CutReplication ends the replication of a pair.
func (w *World) CutReplication(ctx context.Context) error {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	return w.cfg.Servers.SetReplication(ctx, false)
}

// Failover kills the primary and promotes its replica.
func (w *World) Failover(ctx context.Context) (had string, e history.Effect, err error) {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return w.afterCut(ctx)
	}
	return w.atOnce(ctx)
}

// atOnce kills the primary before anything else: whoever looks at it first gives the replica time to catch up. Nothing says then what
// the primary had. Where the fault strikes at the first grant of a run, a key on the replica is that grant's.
func (w *World) atOnce(ctx context.Context) (had string, e history.Effect, err error) {
	if err := w.cfg.Servers.Kill(ctx, thePrimary); err != nil {
		return "", e, err
	}
	if err := w.cfg.Servers.SetReplication(ctx, false); err != nil {
		return "", e, err
	}
	if has, err := w.contents(ctx, theReplica); err == nil {
		had, e = history.ReplicaHad(len(has) > 0), promoted(has, has)
	}
	_, err = w.cfg.Servers.Promote(ctx)
	return had, e, err
}

// afterCut compares what the two have, which nothing changes any more but clients on the primary, and then kills that.
func (w *World) afterCut(ctx context.Context) (had string, e history.Effect, err error) {
	lock, err := w.contents(ctx, thePrimary)
	if kerr := w.cfg.Servers.Kill(ctx, thePrimary); kerr != nil {
		return "", e, kerr
	}
	if has, rerr := w.contents(ctx, theReplica); err == nil && rerr == nil {
		if e = promoted(lock, has); len(lock) > 0 {
			had = history.ReplicaHad(maps.Equal(lock, has))
		}
	}
	_, err = w.cfg.Servers.Promote(ctx)
	return had, e, err
}

// promoted is the effect on the keys of a primary that had those of lock and was followed by a replica that has those of has.
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

// contents is what a node holds of the lock: each key with its value as DUMP gives it, which leaves out when it ends.
func (w *World) contents(ctx context.Context, node int) (map[string]string, error) {
	keys, err := w.keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	c, err := servers.Admin(ctx, w.cfg.Servers, node)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	has := map[string]string{}
	for _, key := range keys {
		dump, err := c.Dump(ctx, key).Result()
		if err != nil && err != redis.Nil { // a lease that has ended meanwhile
			return nil, fmt.Errorf("DUMP %q: %w", key, err)
		}
		if err == nil {
			has[key] = dump
		}
	}
	return has, nil
}
