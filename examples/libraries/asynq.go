package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// uniqueTask uses a unique task of asynq as a lock: enqueueing the task acquires it, deleting the
// task releases it.
type uniqueTask struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	kind, id  string
	ttl       time.Duration
}

// newUniqueTask uses a lease of at least a second: asynq refuses less.
func newUniqueTask(c subject.Config) (any, error) {
	return &uniqueTask{client: asynq.NewClientFromRedisClient(c.Redis), inspector: asynq.NewInspectorFromRedisClient(c.Redis), kind: c.Key, ttl: max(c.TTL, time.Second)}, nil
}

const queue = "q"

func (l *uniqueTask) TryLock(ctx context.Context) (bool, error) {
	info, err := l.client.EnqueueContext(ctx, asynq.NewTask(l.kind, nil), asynq.Unique(l.ttl), asynq.Queue(queue))
	if errors.Is(err, asynq.ErrDuplicateTask) {
		return false, nil
	}
	if err == nil {
		l.id = info.ID
	}
	return err == nil, err
}

// Unlock deletes the task. Asynq first looks up the queue in a set that each client writes once: if
// the set is gone, the task stays, and others are refused until it expires.
func (l *uniqueTask) Unlock(context.Context) error {
	err := l.inspector.DeleteTask(queue, l.id)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return fmt.Errorf("%w: %w", impls.ErrUnavailable, err)
	}
	return err
}

func (l *uniqueTask) Describe() subject.Description { return subject.Description{Name: "asynq-unique"} }
