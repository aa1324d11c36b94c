package quorum

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// vote is one node's answer.
type vote struct {
	node int
	yes  bool
	err  error // the node's answer is not known, or it refused to answer
}

// request is what every node is asked.
type request func(ctx context.Context, node redis.UniversalClient) (bool, error)

// ballot is one request under way to all nodes. Votes come in the order of their arrival.
type ballot struct {
	votes chan vote // has room for all, so that nobody who votes late waits for a reader

	mu   sync.Mutex // protects over: the nodes' goroutines against the one that counts
	over bool       // nobody counts any more: what a late node grants is to be taken back
}

// poll sends the request to all nodes, each under its own time-out and in a goroutine of the pool. The caller's context
// cancels the counting, not the requests: they are bounded anyway, and one that is let finish is known.
//
// late is called for every node that may have granted after end was called.
func poll(ctx context.Context, env impls.Env, pool *sync.WaitGroup, ask request, late func(node int)) *ballot {
	b := &ballot{votes: make(chan vote, len(env.Nodes))}
	ctx = context.WithoutCancel(ctx)
	for i, node := range env.Nodes {
		pool.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, nodeTimeout(env))
			defer cancel()
			yes, err := ask(bounded, node)
			if b.cast(vote{i, yes, err}) && (yes || err != nil) {
				late(i)
			}
		})
	}
	return b
}

// cast hands in a vote and reports whether it came too late to be counted.
func (b *ballot) cast(v vote) (late bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.votes <- v
	return b.over
}

// end declares the counting over: from here on a late node is reported.
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

// majority is how many votes decide.
func (t tally) majority() int { return t.nodes/2 + 1 }

// won reports whether a majority said yes.
func (t tally) won() bool { return t.yes >= t.majority() }

// refused reports whether so many said no that a majority of yes is impossible.
func (t tally) refused() bool { return t.no > t.nodes-t.majority() }

// decided reports whether the votes that are missing cannot change the outcome.
func (t tally) decided() bool { return t.won() || t.refused() }

// done reports whether every node has been counted.
func (t tally) done() bool { return t.yes+t.no+t.none == t.nodes }

func (t *tally) add(v vote) {
	switch {
	case v.err != nil:
		t.none++
		t.err = v.err
	case v.yes:
		t.yes++
	default:
		t.no++
	}
}

// count counts votes until enough says so or every node has been counted, which their time-outs bound; the error is
// that of ctx.
func (b *ballot) count(ctx context.Context, enough func(tally) bool) (tally, error) {
	t := tally{nodes: cap(b.votes)}
	for !t.done() && !enough(t) {
		select {
		case v := <-b.votes:
			t.add(v)
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
	return t, nil
}

// nodeTimeouts is how many of a node's default time-outs make a lease.
const nodeTimeouts = 20

// nodeTimeout bounds one request to one node. The nodes' clients must honour the deadlines of contexts.
func nodeTimeout(env impls.Env) time.Duration {
	if env.NodeTimeout > 0 {
		return env.NodeTimeout
	}
	return max(env.Lease/nodeTimeouts, time.Millisecond)
}
