package inject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/servers"
)

func (w *World) Nodes() int { return w.cfg.Servers.Len() }

func (w *World) KillServer(ctx context.Context, node int) error { return w.cfg.Servers.Kill(ctx, node) }

func (w *World) RestartServer(ctx context.Context, node int) (history.Effect, error) {
	return history.Effect{What: history.Restarted}, elsewhere(w.cfg.Servers.Restart(ctx, node))
}

func (w *World) StopServer(ctx context.Context, node int) error {
	return w.cfg.Servers.Pause(ctx, node)
}

func (w *World) ContinueServer(ctx context.Context, node int) error {
	return elsewhere(w.cfg.Servers.Resume(ctx, node))
}

// elsewhere marks an error caused by another fault on the same node: this fault is not confirmed,
// and the run goes on.
func elsewhere(err error) error {
	if errors.Is(err, servers.ErrState) {
		return fmt.Errorf("%w: %w", faults.ErrNothing, err)
	}
	return err
}

func (w *World) JumpClock(ctx context.Context, node int, by time.Duration) (e history.Effect, err error) {
	at, err := w.cfg.Servers.JumpClock(ctx, node, by)
	if err != nil {
		return e, err
	}
	return history.Effect{What: history.ClockSet, By: int64(by), At: w.on(at)}, nil
}

// on returns an instant on the run's base.
func (w *World) on(at time.Time) int64 { return w.Now() - int64(time.Since(at)) }

func (w *World) DriftClock(ctx context.Context, node int, rate float64) (e history.Effect, err error) {
	at, err := w.cfg.Servers.DriftClock(ctx, node, rate)
	if err != nil {
		return e, err
	}
	return history.Effect{What: history.ClockRate, PPM: int64((rate - 1) * 1e6), At: w.on(at)}, nil
}

// clockPatience is how long setting a clock right waits for a node that another fault has stopped;
// clockRetry is the interval between attempts.
const (
	clockPatience = 5 * time.Second
	clockRetry    = 10 * time.Millisecond
)

// SetClockRight sets a node's clock to the machine's.
func (w *World) SetClockRight(ctx context.Context, node int) ([]history.Effect, error) {
	patience, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	for {
		was, at, err := w.cfg.Servers.SetClockRight(ctx, node)
		switch {
		case err == nil:
			return []history.Effect{{What: history.ClockRate, At: w.on(at)}, {What: history.ClockSet, By: -int64(was), At: w.on(at)}}, nil
		case !errors.Is(err, servers.ErrState) || !sleep(patience.Done(), clockRetry):
			return nil, elsewhere(err)
		}
	}
}

func (w *World) FlushScripts(ctx context.Context, node int) error {
	return w.cfg.Servers.FlushScripts(ctx, node)
}

// DeleteKeys deletes the lock's keys from a node. A replica refuses, and has none of its own.
func (w *World) DeleteKeys(ctx context.Context, node int) (e history.Effect, err error) {
	keys, err := w.cfg.Keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return e, err
	}
	switch err := w.cfg.Servers.DeleteKeys(ctx, node, keys...); {
	case redis.IsReadOnlyError(err):
		return e, nil
	case err != nil:
		return e, err
	}
	return history.Effect{What: history.Deleted, Lost: keys}, nil
}

// EvictKeys fills a node's memory until it has evicted the lock's keys.
func (w *World) EvictKeys(ctx context.Context, node int) (effects []history.Effect, err error) {
	w.evicting.Lock()
	defer w.evicting.Unlock()
	keys, err := w.cfg.Keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	evictions, err := w.cfg.Servers.EvictKeys(ctx, node, keys...)
	for _, e := range evictions {
		effects = append(effects, history.Effect{What: history.Evicted, Lost: []string{e.Key}, At: w.on(e.At)})
	}
	return effects, err
}
