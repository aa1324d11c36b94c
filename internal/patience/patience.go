// Package patience has a context for a call with a time limit whose result outlives the call, such
// as the acquire of a lock that ties a hold, or its watchdog, to the acquire's context.
package patience

import (
	"context"
	"sync"
	"time"
)

// Context is like that of context.WithTimeout, but Keep removes the limit.
type Context struct {
	context.Context // for its values, and its end once the limit is removed
	cancel          context.CancelCauseFunc
	timer           *time.Timer

	mu       sync.Mutex // protects what follows
	deadline time.Time  // zero: no limit
	expired  bool
}

// New returns a context that ends after d. Keep or Cancel must be called.
func New(parent context.Context, d time.Duration) *Context {
	c := &Context{deadline: time.Now().Add(d)}
	c.Context, c.cancel = context.WithCancelCause(parent)
	c.timer = time.AfterFunc(d, c.expire)
	return c
}

func (c *Context) expire() {
	c.mu.Lock()
	c.expired = !c.deadline.IsZero()
	end := c.expired
	c.mu.Unlock()
	if end {
		c.cancel(context.DeadlineExceeded)
	}
}

// Keep removes the limit: the context ends only by Cancel or with its parent. After the end it has
// no effect.
func (c *Context) Keep() {
	c.timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = time.Time{}
}

// Cancel ends the context. It may be called several times.
func (c *Context) Cancel() {
	c.timer.Stop()
	c.cancel(context.Canceled)
}

// Deadline returns the limit, or after Keep the parent's deadline.
func (c *Context) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	outer, limited := c.Context.Deadline()
	if c.deadline.IsZero() || limited && outer.Before(c.deadline) {
		return outer, limited
	}
	return c.deadline, true
}

// Err returns why the context has ended; nil while it has not.
func (c *Context) Err() error {
	err := c.Context.Err()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.expired {
		return context.DeadlineExceeded
	}
	return err
}
