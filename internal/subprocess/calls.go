package subprocess

import "sync"

// Calls matches replies to requests by number. The zero value is ready for use; its methods may be
// called from several goroutines.
type Calls[R any] struct {
	mu   sync.Mutex // protects what follows
	last int64
	open map[int64]chan R
}

// Number returns the next number, from 1, for a request without a reply.
func (c *Calls[R]) Number() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// Open returns a number for a request, and the channel for its reply.
func (c *Calls[R]) Open() (number int64, reply <-chan R) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	ch := make(chan R, 1)
	if c.open == nil {
		c.open = map[int64]chan R{}
	}
	c.open[c.last] = ch
	return c.last, ch
}

// Answer delivers the reply to a request, and reports whether that request was open.
func (c *Calls[R]) Answer(number int64, r R) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, waits := c.open[number]
	if waits {
		delete(c.open, number)
		ch <- r
	}
	return waits
}
