package inject

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// condition is a temporary change to whole links. Conditions add up.
type condition struct {
	Client int // from 1; faults.All means every client
	Node   int // from 0; faults.All means every server

	// Apart: the client and the node are on one side of a partition, and the links that cross it
	// are concerned.
	Apart         bool
	Block         bool          // all traffic is held until the condition is lifted; then it is delivered
	Delay         time.Duration // of every request and of every reply
	Rate          float64       // bytes per second, each way; 0 means unlimited
	NoSubscribers bool          // connections that subscribe are cut
}

// linkState is the sum of the conditions on a link. It is replaced as a whole, which closes
// changed.
type linkState struct {
	blocked       bool
	delay         time.Duration
	rate          float64
	noSubscribers bool
	changed       chan struct{}
}

// impose puts a condition in force; lift ends it, and may be called more than once.
func (p *Proxy) impose(c condition) (lift func()) {
	own := &c
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conditions = append(p.conditions, own)
	p.refresh()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conditions = slices.DeleteFunc(p.conditions, func(x *condition) bool { return x == own })
		p.refresh()
	}
}

// refresh recomputes the sum of the conditions of every link. mu must be held.
func (p *Proxy) refresh() {
	for _, l := range p.links {
		s := &linkState{changed: make(chan struct{})}
		for _, c := range p.conditions {
			concerns := (c.Client == faults.All || c.Client == l.Client) && (c.Node == faults.All || c.Node == l.Node)
			if c.Apart {
				concerns = l.Node >= 0 && !l.Balancer && (c.Client == l.Client) != (c.Node == l.Node)
			}
			if !concerns {
				continue
			}
			s.blocked = s.blocked || c.Block
			s.delay += c.Delay
			s.noSubscribers = s.noSubscribers || c.NoSubscribers
			if c.Rate > 0 && (s.rate == 0 || c.Rate < s.rate) {
				s.rate = c.Rate
			}
		}
		if old := l.state.Swap(s); old != nil {
			close(old.changed)
		}
	}
}

// settled waits for the writes that began before the last condition, after which nothing passes
// that it forbids. It returns false if ctx ends first.
func (p *Proxy) settled(ctx context.Context) bool {
	for _, l := range p.present() {
		for l.passing.Load() > 0 {
			if !sleep(ctx.Done(), settlePause) {
				return false
			}
		}
	}
	return true
}

const settlePause = 100 * time.Microsecond

// sleep waits for d; it returns false if done is closed first.
func sleep(done <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	select {
	case <-time.After(d):
		return true
	case <-done:
		return false
	}
}
