package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/servers"
)

// killServer kills a node; healing starts it again, with what its persistence kept.
type killServer struct{}

func (killServer) Name() string          { return KillServer }
func (killServer) Available(Field) error { return nil }

func (killServer) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	node := oneNode(s)
	e := Effect{Node: node, Heal: func(ctx context.Context) error { return f.Servers.Restart(ctx, node) }}
	if err := f.Servers.Kill(ctx, node); err != nil {
		return e, err
	}
	e.Confirmed = true
	return e, nil
}

// pauseServer stops a node without killing it.
type pauseServer struct{}

func (pauseServer) Name() string          { return PauseServer }
func (pauseServer) Available(Field) error { return nil }

func (pauseServer) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	node := oneNode(s)
	e := Effect{Node: node, Heal: func(ctx context.Context) error { return f.Servers.Resume(ctx, node) }}
	if err := f.Servers.Pause(ctx, node); err != nil {
		return e, err
	}
	e.Confirmed = true
	return e, nil
}

// jumpClock sets a node's clock off from the machine's.
type jumpClock struct{}

func (jumpClock) Name() string          { return JumpClock }
func (jumpClock) Available(Field) error { return nil }

func (jumpClock) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	node, by := oneNode(s), s.By.Of(f.Lease)
	err := f.Servers.SetClock(ctx, node, by)
	return Effect{Node: node, Confirmed: err == nil, Note: "clock off by " + by.String(), Heal: setClockRight(f, node)}, err
}

// driftClock makes a node's clock run fast or slow.
type driftClock struct{}

func (driftClock) Name() string          { return DriftClock }
func (driftClock) Available(Field) error { return nil }

func (driftClock) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	node := oneNode(s)
	err := f.Servers.DriftClock(ctx, node, s.Rate)
	return Effect{Node: node, Confirmed: err == nil, Note: fmt.Sprintf("clock at rate %g", s.Rate), Heal: setClockRight(f, node)}, err
}

// clockPatience is how long a clock waits to be set right on a node that another fault has stopped, and clockRetry how often it is tried.
const (
	clockPatience = 5 * time.Second
	clockRetry    = 10 * time.Millisecond
)

func setClockRight(f Field, node int) func(context.Context) error {
	return func(ctx context.Context) error {
		patience, cancel := context.WithTimeout(ctx, clockPatience)
		defer cancel()
		for {
			err := f.Servers.SetClock(ctx, node, 0)
			if !errors.Is(err, servers.ErrState) {
				return err
			}
			select {
			case <-patience.Done():
				return err
			case <-time.After(clockRetry):
			}
		}
	}
}

// flushScripts makes nodes forget their scripts.
type flushScripts struct{}

func (flushScripts) Name() string          { return FlushScripts }
func (flushScripts) Available(Field) error { return nil }

func (flushScripts) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	var errs []error
	for _, node := range nodesOf(f, s) {
		errs = append(errs, f.Servers.FlushScripts(ctx, node))
	}
	err := errors.Join(errs...)
	return Effect{Node: s.Node - 1, Confirmed: err == nil}, err
}

// deleteKey deletes what the lock keeps, as an operator would.
type deleteKey struct{}

func (deleteKey) Name() string { return DeleteKey }

func (deleteKey) Available(f Field) error { return needKeys(f) }

func needKeys(f Field) error {
	if f.Keys == nil {
		return fmt.Errorf("%w: nobody knows the lock's keys", servers.ErrMissing)
	}
	return nil
}

func (deleteKey) Inject(ctx context.Context, f Field, s Spec) (Effect, error) {
	e, deleted := Effect{Node: s.Node - 1}, 0
	var errs []error
	for _, node := range nodesOf(f, s) {
		n, err := deleteOn(ctx, f, node)
		if err != nil && !redis.IsReadOnlyError(err) { // a replica that has not followed its primary yet will
			errs = append(errs, err)
		}
		deleted += n
	}
	err := errors.Join(errs...)
	e.Confirmed, e.Note = deleted > 0, fmt.Sprintf("%d keys deleted", deleted)
	if e.Confirmed && err != nil { // a node that is away has no key to lose that anybody could meet
		e.Note, err = e.Note+"; "+err.Error(), nil
	}
	return e, err
}

// deleteOn deletes the lock's keys from one node and tells how many there were.
func deleteOn(ctx context.Context, f Field, node int) (int, error) {
	keys, err := f.Keys(ctx, node)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	if err := f.Servers.DeleteKeys(ctx, node, keys...); err != nil {
		return 0, err
	}
	return len(keys), nil
}
