package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// vote is one node's reply.
type vote struct {
	node int
	yes  bool
	err  error // the node's reply is unknown or an error
}

// request sends a request to one node.
type request func(ctx context.Context, node redis.UniversalClient) (bool, error)

// ballot is one request to all nodes. Votes are in the order of arrival.
type ballot struct {
	votes   chan vote     // buffers all votes, so that a late one does not block
	settled chan struct{} // one for each node that replied, with a late grant withdrawn, or that is given up

	mu   sync.Mutex // protects over
	over bool       // counting has ended: a late grant must be withdrawn
}

// poll sends the request to all nodes, each with its own timeout and in a goroutine of the pool.
// The caller's context cancels the counting, not the requests, which are bounded anyway.
//
// withdraw is called for every node that may have granted after end was called.
func poll(ctx context.Context, env impls.Env, pool *sync.WaitGroup, ask request, withdraw func(node int)) *ballot {
	b := &ballot{votes: make(chan vote, len(env.Nodes)), settled: make(chan struct{}, len(env.Nodes))}
	ctx = context.WithoutCancel(ctx)
	for i, node := range env.Nodes {
		pool.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, nodeTimeout(env))
			defer cancel()
			yes, err := ask(bounded, node)
			b.mu.Lock()
			b.votes <- vote{i, yes, err}
			late := b.over
			b.mu.Unlock()
			settled := func() { b.settled <- struct{}{} }
			if err == nil {
				defer settled()
			} else { // a node that does not reply is not waited for
				settled()
			}
			if late && (yes || err != nil) {
				withdraw(i)
			}
		})
	}
	return b
}

// end ends the counting; later votes are late.
func (b *ballot) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// tally is a count of votes.
type tally struct {
	nodes         int
	yes, no, none int
	err           error // of one node that gave no answer
}

// majority returns how many votes are a majority.
func (t tally) majority() int { return t.nodes/2 + 1 }

// won reports whether a majority said yes.
func (t tally) won() bool { return t.yes >= t.majority() }

// refused reports whether too many said no for a majority of yes.
func (t tally) refused() bool { return t.no > t.nodes-t.majority() }

// decided reports whether missing votes cannot change the outcome.
func (t tally) decided() bool { return t.won() || t.refused() }

// count counts votes until enough returns true or every node was counted, which takes at most a
// timeout. It returns ctx.Err() if ctx ends first.
func (b *ballot) count(ctx context.Context, enough func(tally) bool) (tally, error) {
	t := tally{nodes: cap(b.votes)}
	for t.yes+t.no+t.none < t.nodes && !enough(t) {
		select {
		case v := <-b.votes:
			switch {
			case v.err != nil:
				t.none++
				t.err = v.err
			case v.yes:
				t.yes++
			default:
				t.no++
			}
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
	return t, nil
}

// nodeTimeouts is the lease divided by a node's default timeout.
const nodeTimeouts = 20

// nodeTimeout bounds one request to one node. The nodes' clients must honour the deadlines of
// contexts.
func nodeTimeout(env impls.Env) time.Duration {
	if env.NodeTimeout > 0 {
		return env.NodeTimeout
	}
	return max(env.Lease/nodeTimeouts, time.Millisecond)
}
