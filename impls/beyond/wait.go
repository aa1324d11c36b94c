package beyond

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// waiter waits between two attempts of an Acquire.
type waiter interface {
	// wait returns after limit or when notified, with a fence if the lock was granted meanwhile,
	// and ctx.Err() if ctx ends.
	wait(ctx context.Context, limit time.Duration) (fence uint64, err error)
	close()
}

func (l *lock) waiter(r *request) waiter {
	if l.how.blocks {
		return &blocker{lock: l, list: l.channel(r.token)}
	}
	return &bell{lock: l, request: r}
}

// bell waits for a publication. It subscribes at the first wait, so that an uncontended acquire
// opens no connection.
type bell struct {
	lock     *lock
	request  *request
	listener *impls.Listener
}

func (b *bell) wait(ctx context.Context, limit time.Duration) (uint64, error) {
	if b.listener == nil {
		env := b.lock.env
		b.listener = impls.Listen(ctx, env.Redis(), env.Clock, b.lock.channel(b.request.token), env.PollInterval())
	}
	return 0, b.listener.Sleep(ctx, limit)
}

func (b *bell) close() {
	if b.listener != nil {
		b.listener.Close()
	}
}
