package workloads

import "context"

// Relay makes every release a hand-over to a client that was waiting: a client that has released asks again only when another was
// granted. Without it a lock that is polled for is mostly granted to its last holder, and looks quick by starving the others.
type Relay struct {
	passed chan struct{} // one for each grant that followed a release; has room for all clients
	first  chan struct{} // holds one until the first grant, which follows no release
}

// NewRelay makes the relay of so many clients. It is nil for one, who has nobody to hand over to.
func NewRelay(clients int) *Relay {
	if clients < 2 {
		return nil
	}
	r := &Relay{passed: make(chan struct{}, clients), first: make(chan struct{}, 1)}
	r.first <- struct{}{}
	return r
}

// granted notes a grant.
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
	default: // those who released have left
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
