package quorum

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

var (
	releaseScript = impls.EmbeddedScript(lua, "redlock_release.lua")
	extendScript  = impls.EmbeddedScript(lua, "redlock_extend.lua")
)

// drift is the part of a lease that Redlock subtracts for clocks of different rates and the
// granularity of expiry: one hundredth and two milliseconds.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// lock is one client's handle.
type lock struct {
	env        impls.Env
	held       *hold
	background sync.WaitGroup // requests under way; Close waits for them
}

// hold is a grant with its ballot, which late votes still reach.
type hold struct {
	token  string
	ballot *ballot
}

var _ impls.Lock = (*lock)(nil)

// open returns a handle on all nodes of the environment.
func open(env impls.Env) (impls.Lock, error) {
	if env.Lease <= drift(env.Lease) {
		return nil, fmt.Errorf("lease %v: nothing is left after a drift of %v", env.Lease, drift(env.Lease))
	}
	return &lock{env: env}, nil
}

// Try makes one attempt on all nodes.
func (l *lock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	what := "acquire " + l.env.Key
	if mode == history.Shared {
		return impls.Grant{}, fmt.Errorf("%s shared: %w", what, impls.ErrUnsupported)
	}
	token, err := impls.NewToken(l.env.Rand)
	if err != nil {
		return impls.Grant{}, fmt.Errorf("%s: %w: %w", what, impls.ErrUnavailable, err)
	}
	start := l.env.Clock.Now()
	set := func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(node.Do(ctx, "set", l.env.Key, token, "nx", "px", l.env.Lease.Milliseconds()))
	}
	withdraw := func(node int) { // which replied too late
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout(l.env)) // the caller has gone
		defer cancel()
		_, _ = l.delete(token)(ctx, l.env.Nodes[node]) // what is not taken back ends with its lease
	}
	h := &hold{token, poll(ctx, l.env, &l.background, set, withdraw)}
	t, err := h.ballot.count(ctx, tally.decided)
	validUntil := start.Add(l.env.Lease - drift(l.env.Lease))
	if err == nil && t.won() && l.env.Clock.Now().Before(validUntil) {
		l.held = h
		return impls.Grant{Token: token, ValidUntil: validUntil}, nil
	}
	l.withdrawAll(ctx, h)
	// The outcome is never unknown: without a majority in time the client does not hold.
	switch {
	case err != nil:
		return impls.Grant{}, fmt.Errorf("%s: %w: %w", what, impls.ErrCancelled, err)
	case t.won():
		return impls.Grant{}, fmt.Errorf("%s: %w: a majority granted, but the lease was over", what, impls.ErrUnavailable)
	case t.refused(), t.yes+t.no >= t.majority():
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrBusy)
	}
	return impls.Grant{}, fmt.Errorf("%s: %w: %d of %d nodes answered: %v", what, impls.ErrUnavailable, t.yes+t.no, t.nodes, t.err)
}

// delete deletes the key on a node.
func (l *lock) delete(token string) request {
	return func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(releaseScript.Run(ctx, node, []string{l.env.Key}, token))
	}
}

// Acquire tries until it is granted, after each failure sleeping between half and one and a half
// poll intervals, so that clients who split the vote do not split it again. Nodes that cannot be
// reached are tried again like nodes that refuse.
func (l *lock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, ctx.Err())
		}
		g, err := l.Try(ctx, mode)
		again := errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrUnavailable)
		if !again || n == l.env.MaxTries {
			return g, err
		}
		if err := l.env.Clock.Sleep(ctx, l.delay()); err != nil {
			return impls.Grant{}, fmt.Errorf("acquire %s: %w: %w", l.env.Key, impls.ErrCancelled, err)
		}
	}
}

// delay draws the time between two tries.
func (l *lock) delay() time.Duration {
	var b [4]byte
	if _, err := l.env.Rand.Read(b[:]); err != nil {
		return l.env.PollInterval() // without randomness the clients may only split the vote again
	}
	share := float64(binary.LittleEndian.Uint32(b[:])) / (1 << 32)
	return time.Duration((0.5 + share) * float64(l.env.PollInterval()))
}

// Extend restarts the lease on a majority, by the same rule as an acquire. If the hold is lost, it
// is released on the other nodes.
func (l *lock) Extend(ctx context.Context) (impls.Grant, error) {
	what := "extend " + l.env.Key
	if l.held == nil {
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	h := l.held
	extend := func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(extendScript.Run(ctx, node, []string{l.env.Key}, h.token, l.env.Lease.Milliseconds()))
	}
	start := l.env.Clock.Now()
	t, err := poll(ctx, l.env, &l.background, extend, func(int) {}).count(ctx, tally.decided)
	validUntil := start.Add(l.env.Lease - drift(l.env.Lease))
	if err == nil && t.won() && l.env.Clock.Now().Before(validUntil) {
		return impls.Grant{Token: h.token, ValidUntil: validUntil}, nil
	}
	if err == nil && t.refused() {
		l.held = nil
		l.withdrawAll(ctx, h)
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrLost)
	}
	return impls.Grant{}, fmt.Errorf("%s: %w", what, undecided(t, err))
}

// undecided returns the error of an extend or release to which too few nodes replied.
func undecided(t tally, cancelled error) error {
	if cancelled != nil {
		return fmt.Errorf("%w: %w: %w", impls.ErrUnknownOutcome, impls.ErrCancelled, cancelled)
	}
	return fmt.Errorf("%w: %d of %d nodes answered: %v", impls.ErrUnknownOutcome, t.yes+t.no, t.nodes, t.err)
}

// Release deletes the key on all nodes and returns when a majority has done so, or a majority is
// impossible; the rest goes on in the background. It keeps the hold while the outcome is unknown,
// so that the caller may try again.
func (l *lock) Release(ctx context.Context) error {
	what := "release " + l.env.Key
	if l.held == nil {
		return fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	l.held.ballot.end()
	t, err := poll(ctx, l.env, &l.background, l.delete(l.held.token), func(int) {}).count(ctx, tally.decided)
	switch {
	case err == nil && t.won():
		l.held = nil
		return nil
	case err == nil && t.refused():
		l.held = nil
		return fmt.Errorf("%s: %w", what, impls.ErrLost)
	}
	return fmt.Errorf("%s: %w", what, undecided(t, err))
}

// withdrawAll releases a token on all nodes, even those that refused, and waits for the replies up
// to a node's timeout: otherwise the next try would find the minority that this one took. It also
// waits for late requests of the acquire, which withdraw themselves.
func (l *lock) withdrawAll(ctx context.Context, h *hold) {
	h.ballot.end()
	b := poll(ctx, l.env, &l.background, l.delete(h.token), func(int) {})
	_, _ = b.count(ctx, func(tally) bool { return false }) // what is not taken back ends with its lease
	for range cap(h.ballot.settled) {                      // late grants, except at nodes that do not reply
		select {
		case <-h.ballot.settled:
		case <-ctx.Done():
			return
		}
	}
}

// Close waits for the requests under way.
func (l *lock) Close() error {
	l.background.Wait()
	return nil
}
