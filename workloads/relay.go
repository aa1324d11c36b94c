package workloads

import "context"

// Relay makes every release a hand-over to a waiting client: a client that released acquires again
// only after another was granted. Without it the last holder mostly gets a lock back whose waiters
// poll, and the lock looks fast because it starves the others.
type Relay struct {
	passed chan struct{} // one for each grant that followed a release; buffers all clients
	first  chan struct{} // has one until the first grant, which follows no release
}

// NewRelay returns the relay of clients clients; nil for one.
func NewRelay(clients int) *Relay {
	if clients < 2 {
		return nil
	}
	r := &Relay{passed: make(chan struct{}, clients), first: make(chan struct{}, 1)}
	r.first <- struct{}{}
	return r
}

func (r *Relay) granted() {
	if r == nil {
		return
	}
	select {
	case <-r.first:
		return
	default:
	}
	select {
	case r.passed <- struct{}{}:
	default: // the clients that released have left
	}
}

// wait returns when another client was granted, stop is closed, or ctx ends.
func (r *Relay) wait(ctx context.Context, stop <-chan struct{}) {
	if r == nil {
		return
	}
	select {
	case <-r.passed:
	case <-stop:
	case <-ctx.Done():
	}
}
