package beyond

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/impls/wake"
)

// waiter is what an Acquire does between two askings.
type waiter interface {
	// wait returns after limit, or when it is worth asking again; with a fence, when the lock was granted meanwhile; with ctx.Err() when
	// ctx ends.
	wait(ctx context.Context, limit time.Duration) (fence uint64, err error)
	close()
}

func (l *lock) waiter(r *request) waiter {
	if l.how.blocks {
		return &blocker{lock: l, list: l.channel(r.token)}
	}
	return &bell{lock: l, request: r}
}

// bell is what wakes one Acquire. It begins to listen at the first wait, so that an acquire which meets nobody opens no
// connection for it.
type bell struct {
	lock     *lock
	request  *request
	listener *wake.Listener
}

func (b *bell) wait(ctx context.Context, limit time.Duration) (uint64, error) {
	if b.listener == nil {
		env := b.lock.env
		b.listener = wake.Listen(ctx, env.Redis(), env.Clock, b.lock.channel(b.request.token), env.PollInterval())
	}
	return 0, b.listener.Sleep(ctx, limit)
}

func (b *bell) close() {
	if b.listener != nil {
		b.listener.Close()
	}
}
