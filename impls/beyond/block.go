package beyond

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// block waits on the request's list, to which a release pushes the fence of its grant, for at most
// limit, and returns the fence. After an error of the connection it sleeps for the poll interval and
// lets the caller try again.
func (l *lock) block(ctx context.Context, list string, limit time.Duration) (uint64, error) {
	err := l.connect(ctx)
	if err == nil {
		var popped []string
		if popped, err = l.pop(ctx, limit, list); err == nil {
			fence, _ := strconv.ParseUint(popped[1], 10, 64) // a release pushes nothing else
			return fence, ctx.Err()
		}
	}
	if ctx.Err() != nil || errors.Is(err, redis.Nil) {
		return 0, ctx.Err()
	}
	return 0, l.env.Clock.Sleep(ctx, l.env.PollInterval())
}

// connect makes the connection for waiting, to the first node or to the one with the lock's slot.
func (l *lock) connect(ctx context.Context) error {
	if l.blocked != nil {
		return nil
	}
	base, ok := l.env.Redis().(*redis.Client)
	if cluster, is := l.env.Redis().(*redis.ClusterClient); is {
		master, err := cluster.MasterForKey(ctx, l.env.Key)
		if err != nil {
			return err
		}
		base, ok = master, true
	}
	if !ok {
		return errors.New("a Redis client whose connections are not known")
	}
	options := *base.Options()
	options.PoolSize, options.MinIdleConns, options.MaxRetries = 1, 0, -1
	if options.ReadTimeout > 0 {
		options.ReadTimeout += l.patience(-1) // the longest block
	}
	l.blocked = redis.NewClient(&options)
	return nil
}

// pop waits for an element of the list. It closes a connection that failed or was cancelled, and
// sends nothing if ctx has ended already: the request would race with the closing.
func (l *lock) pop(ctx context.Context, limit time.Duration, list string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, closed := l.blocked, make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = client.Close()
	})
	popped, err := client.Do(context.WithoutCancel(ctx), "blpop", list, limit.Seconds()).StringSlice()
	if !stop() {
		<-closed
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		_ = l.Close()
	}
	return popped, err
}

// Close closes the connection for waiting, if any.
func (l *lock) Close() error {
	if l.blocked == nil {
		return nil
	}
	client := l.blocked
	l.blocked = nil
	if err := client.Close(); !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}
