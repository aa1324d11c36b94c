package inject

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// way is one of the two ways through a link.
type way int

const (
	toNode way = iota
	toClient
)

// Condition is what is done to whole links for a while. Conditions add up.
type Condition struct {
	Client int // from 1; faults.All means every client
	Node   int // from 0; faults.All means every server
	// BlockRequests and BlockReplies hold everything that goes to the node, or comes from it, until the condition is lifted. What
	// was held is then delivered, as the network's own retransmission would.
	BlockRequests, BlockReplies bool
	Delay                       time.Duration // of every request and of every reply
	Rate                        float64       // bytes per second, each way; 0 means unlimited
	NoSubscribers               bool          // a connection that subscribes is cut
}

func (c *Condition) concerns(l *Link) bool {
	return (c.Client == faults.All || c.Client == l.Client) && (c.Node == faults.All || c.Node == l.Node)
}

// linkState is the sum of the conditions on a link. It is replaced as a whole, and changed is closed then.
type linkState struct {
	blocked [2]bool // by direction
	delay   time.Duration
	rate    float64
	changed chan struct{}

	noSubscribers bool
}

// Impose puts a condition in force; lift ends it, and may be called more than once.
func (p *Proxy) Impose(c Condition) (lift func()) {
	own := &c
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conditions = append(p.conditions, own)
	p.refresh()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.conditions = slices.DeleteFunc(p.conditions, func(x *Condition) bool { return x == own })
		p.refresh()
	}
}

// refresh returns every link the sum of its conditions. mu is held.
func (p *Proxy) refresh() {
	for _, l := range p.links {
		s := &linkState{changed: make(chan struct{})}
		for _, c := range p.conditions {
			if c.concerns(l) {
				s.add(c)
			}
		}
		if old := l.state.Swap(s); old != nil {
			close(old.changed)
		}
	}
}

func (s *linkState) add(c *Condition) {
	s.blocked[toNode] = s.blocked[toNode] || c.BlockRequests
	s.blocked[toClient] = s.blocked[toClient] || c.BlockReplies
	s.delay += c.Delay
	s.noSubscribers = s.noSubscribers || c.NoSubscribers
	if c.Rate > 0 && (s.rate == 0 || c.Rate < s.rate) {
		s.rate = c.Rate
	}
}

// Settled waits until every write that began before the last condition was imposed has ended, and reports whether that was seen
// before ctx ended: from then on nothing passes that a condition forbids.
func (p *Proxy) Settled(ctx context.Context) bool {
	p.mu.Lock()
	links := slices.Clone(p.links)
	p.mu.Unlock()
	for _, l := range links {
		for l.passing.Load() > 0 {
			if !sleep(ctx.Done(), settlePause) {
				return false
			}
		}
	}
	return true
}

const settlePause = 100 * time.Microsecond

// sleep waits for d; false when done is closed first.
func sleep(done <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	}
}
