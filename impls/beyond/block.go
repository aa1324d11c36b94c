package beyond

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// blocker waits on the list to which a release pushes the fence of its grant.
type blocker struct {
	lock *lock
	list string
}

// wait blocks on the server for at most limit. After an error of the connection it sleeps for the
// poll interval and lets the caller try again.
func (b *blocker) wait(ctx context.Context, limit time.Duration) (uint64, error) {
	client, err := b.lock.blocked.client(ctx, b.lock)
	if err == nil {
		var popped []string
		popped, err = b.lock.blocked.pop(ctx, client, limit, b.list)
		if err == nil {
			fence, _ := strconv.ParseUint(popped[1], 10, 64) // a release pushes nothing else
			return fence, ctx.Err()
		}
	}
	if ctx.Err() != nil || errors.Is(err, redis.Nil) {
		return 0, ctx.Err()
	}
	return 0, b.lock.env.Clock.Sleep(ctx, b.lock.env.PollInterval())
}

func (b *blocker) close() {}

// connection is a handle's own connection for waiting: a blocked request can be cancelled only by
// closing its connection.
type connection struct{ redis *redis.Client }

// client connects on first use, to the first node or to the one with the lock's slot.
func (c *connection) client(ctx context.Context, l *lock) (*redis.Client, error) {
	if c.redis != nil {
		return c.redis, nil
	}
	base, ok := l.env.Redis().(*redis.Client)
	if cluster, is := l.env.Redis().(*redis.ClusterClient); is {
		master, err := cluster.MasterForKey(ctx, l.env.Key)
		if err != nil {
			return nil, err
		}
		base, ok = master, true
	}
	if !ok {
		return nil, errors.New("a Redis client whose connections are not known")
	}
	options := *base.Options()
	options.PoolSize, options.MinIdleConns, options.MaxRetries = 1, 0, -1
	if options.ReadTimeout > 0 {
		options.ReadTimeout += l.patience(-1) // the longest block
	}
	c.redis = redis.NewClient(&options)
	return c.redis, nil
}

// pop waits for an element of the list. It closes a connection that failed or was cancelled, and
// sends nothing if ctx has ended already: the request would race with the closing.
func (c *connection) pop(ctx context.Context, client *redis.Client, limit time.Duration, list string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = client.Close()
	})
	popped, err := client.Do(context.WithoutCancel(ctx), "blpop", list, limit.Seconds()).StringSlice()
	if !stop() {
		<-closed
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		_ = c.close()
	}
	return popped, err
}

func (c *connection) close() error {
	if c.redis == nil {
		return nil
	}
	client := c.redis
	c.redis = nil
	if err := client.Close(); !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}
