package libraries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// uniqueTask is a unique task of asynq as a lock: it is enqueued while no other of its kind is, and the lock is given back by its deletion.
type uniqueTask struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	kind, id  string
	ttl       time.Duration
}

// newUniqueTask makes a second of a shorter lease: asynq refuses less.
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

// Unlock deletes the task. Asynq looks for the queue first, in a set that each client writes once: when that is gone, the task is not deleted, and
// keeps others out for the rest of its time.
func (l *uniqueTask) Unlock(context.Context) error {
	err := l.inspector.DeleteTask(queue, l.id)
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return fmt.Errorf("%w: %w", impls.ErrUnavailable, err)
	}
	return err
}

func (l *uniqueTask) Describe() subject.Description { return subject.Description{Name: "asynq-unique"} }
