package impls

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Listener waits for the publications on one channel by which a lock's release wakes its waiters.
//
// A publication is a hint, not a grant. It may be lost with a connection or come before the
// subscription; so a Listener also wakes its client when the subscription begins and when the
// connection is lost, and every sleep has a limit. A woken client asks the server again.
//
// The receiving goroutine belongs to the Listener; Close waits for it. It sleeps by the client's
// clock, so that a stalled client stays asleep.
type Listener struct {
	redis   redis.UniversalClient
	clock   Clock
	channel string
	retry   time.Duration
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu        sync.Mutex // guards the fields below: the receiving goroutine and the client use them
	current   *redis.PubSub
	connected bool
	closed    bool
	pending   bool               // a wake-up since the last Sleep
	alert     context.CancelFunc // ends the sleep under way
}

// Listen begins to listen; it does not wait for the subscription. A lost connection is tried again
// after retry. The listener ends with ctx or by Close, which must be called.
func Listen(ctx context.Context, r redis.UniversalClient, clock Clock, channel string, retry time.Duration) *Listener {
	ctx, cancel := context.WithCancel(ctx)
	l := &Listener{redis: r, clock: clock, channel: channel, retry: retry, cancel: cancel}
	l.done.Go(func() { l.run(ctx) })
	return l
}

// Sleep returns nil after limit or at a wake-up, whichever is first, and ctx.Err() when ctx ends. A
// wake-up that came since the last Sleep counts. While the subscription is down it sleeps at most
// the retry interval.
func (l *Listener) Sleep(ctx context.Context, limit time.Duration) error {
	sleeping, alert := context.WithCancel(ctx)
	defer alert()
	l.mu.Lock()
	if l.pending {
		l.pending = false
		l.mu.Unlock()
		return ctx.Err()
	}
	if !l.connected {
		limit = min(limit, l.retry)
	}
	l.alert = alert
	l.mu.Unlock()
	_ = l.clock.Sleep(sleeping, limit) // ended by the alert, or by ctx, which the last line checks
	l.mu.Lock()
	l.alert, l.pending = nil, false
	l.mu.Unlock()
	return ctx.Err()
}

// Close ends the subscription and waits for the goroutine.
func (l *Listener) Close() {
	l.cancel()
	l.mu.Lock()
	l.closed = true
	current := l.current
	l.mu.Unlock()
	if current != nil {
		_ = current.Close()
	}
	l.done.Wait()
}

// wake ends the sleep under way, or the next one. connected reports whether the subscription is up.
func (l *Listener) wake(connected bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connected, l.pending = connected, true
	if l.alert != nil {
		l.alert()
	}
}

// run wakes at every message, the confirmation of the subscription first, until the connection is
// lost or closed, and then subscribes again.
//
// It receives under a context that has ended, because the Redis client checks the context only when
// it connects, and would otherwise reconnect inside Receive, under the mutex that Close needs.
func (l *Listener) run(ctx context.Context) {
	ended, end := context.WithCancel(context.Background())
	end()
	for ctx.Err() == nil {
		p := l.redis.Subscribe(ctx)
		if err := p.Subscribe(ctx, l.channel); err == nil && l.offer(p) {
			for err == nil {
				if _, err = p.Receive(ended); err == nil {
					l.wake(true)
				}
			}
		}
		l.offer(nil)
		_ = p.Close() // a second close has no effect
		if ctx.Err() != nil {
			return
		}
		l.wake(false)
		if l.clock.Sleep(ctx, l.retry) != nil {
			return // ctx has ended, or the client is dead
		}
	}
}

// offer makes p the subscription that Close ends. It returns false if the listener is closed; then
// the caller closes p.
func (l *Listener) offer(p *redis.PubSub) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = p
	return !l.closed
}
