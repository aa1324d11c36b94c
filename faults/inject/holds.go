package inject

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/faults"
)

// holds is what holds a client at its moment, or a message on its way, until it is released. The
// zero value holds nothing.
type holds struct {
	some atomic.Bool     // the fast path of Wait: there may be holds
	mu   sync.Mutex      // guards all
	all  []chan struct{} // closed when released; those that no Wait has taken
}

// Hold begins to hold, until release is called, once.
func (h *holds) Hold() (release faults.Undo) {
	hold := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, hold)
	h.some.Store(true)
	return func(context.Context) error { close(hold); return nil }
}

// Wait waits for the release of what holds now; it returns false if done or gone is closed first.
// Each hold holds one Wait: at a moment it stops the client, and not the background of the client's
// lock.
func (h *holds) Wait(done, gone <-chan struct{}) bool {
	if !h.some.Load() {
		return true
	}
	h.mu.Lock()
	all := h.all
	h.all = nil
	h.some.Store(false)
	h.mu.Unlock()
	for _, hold := range all {
		select {
		case <-hold:
		case <-done:
			return false
		case <-gone:
			return false
		}
	}
	return true
}

// free reports whether a Wait would not wait.
func (h *holds) free() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hold := range h.all {
		select {
		case <-hold:
		default:
			return false
		}
	}
	return true
}
