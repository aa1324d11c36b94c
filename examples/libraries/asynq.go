package libraries

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"

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

func (l *uniqueTask) Unlock(context.Context) error { return l.inspector.DeleteTask(queue, l.id) }

func (l *uniqueTask) Describe() subject.Description { return subject.Description{Name: "asynq-unique"} }
