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

// drift is the part of a lease that Redlock gives away for clocks of different rate and for the granularity of expiry: one
// hundredth and two milliseconds.
func drift(lease time.Duration) time.Duration { return lease/100 + 2*time.Millisecond }

// lock is one client's handle.
type lock struct {
	env        impls.Env
	held       *hold
	background sync.WaitGroup // requests under way; Close waits for them
}

// hold is a grant with its ballot, whose late votes belong to it.
type hold struct {
	token  string
	ballot *ballot
}

var _ impls.Lock = (*lock)(nil)

// open returns a handle on all nodes of the environment.
func open(env impls.Env) (impls.Lock, error) {
	if err := env.CheckLease(); err != nil {
		return nil, err
	}
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
	h := &hold{token, poll(ctx, l.env, &l.background, l.set(token), func(node int) { l.takeBack(node, token) })}
	t, err := h.ballot.count(ctx, tally.decided)
	validUntil := start.Add(l.env.Lease - drift(l.env.Lease))
	if err == nil && t.won() && l.env.Clock.Now().Before(validUntil) {
		l.held = h
		return impls.Grant{Token: token, ValidUntil: validUntil}, nil
	}
	l.takeBackEverywhere(ctx, h)
	return impls.Grant{}, fmt.Errorf("%s: %w", what, notGranted(t, err))
}

// notGranted returns why an acquire failed. The outcome is never unknown: without a majority in time the client does not hold.
func notGranted(t tally, cancelled error) error {
	switch {
	case cancelled != nil:
		return fmt.Errorf("%w: %w", impls.ErrCancelled, cancelled)
	case t.won():
		return fmt.Errorf("%w: a majority granted, but the lease was over", impls.ErrUnavailable)
	case t.refused(), t.yes+t.no >= t.majority():
		return impls.ErrBusy
	}
	return fmt.Errorf("%w: %d of %d nodes answered: %v", impls.ErrUnavailable, t.yes+t.no, t.nodes, t.err)
}

// set asks a node for the lock.
func (l *lock) set(token string) request {
	return func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(node.Do(ctx, "set", l.env.Key, token, "nx", "px", l.env.Lease.Milliseconds()))
	}
}

// delete asks a node to give the lock up.
func (l *lock) delete(token string) request {
	return func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(releaseScript.Run(ctx, node, []string{l.env.Key}, token))
	}
}

// Acquire tries until it is granted, after each failure sleeping between half and one and a half poll intervals, so that
// clients who split the vote do not split it again. Nodes that cannot be reached are tried again like nodes that refuse.
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
		return l.env.PollInterval() // without randomness the clients may split the vote again; the next try will tell
	}
	share := float64(binary.LittleEndian.Uint32(b[:])) / (1 << 32)
	return time.Duration((0.5 + share) * float64(l.env.PollInterval()))
}

// Extend restarts the lease on a majority, by the same rule as an acquire. Found lost, the hold is taken back where it is left.
func (l *lock) Extend(ctx context.Context) (impls.Grant, error) {
	what := "extend " + l.env.Key
	if l.held == nil {
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	h := l.held
	start := l.env.Clock.Now()
	t, err := poll(ctx, l.env, &l.background, l.extend(h.token), func(int) {}).
		count(ctx, tally.decided)
	validUntil := start.Add(l.env.Lease - drift(l.env.Lease))
	if err == nil && t.won() && l.env.Clock.Now().Before(validUntil) {
		return impls.Grant{Token: h.token, ValidUntil: validUntil}, nil
	}
	if err == nil && t.refused() {
		l.held = nil
		l.takeBackEverywhere(ctx, h)
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrLost)
	}
	return impls.Grant{}, fmt.Errorf("%s: %w", what, undecided(t, err))
}

func (l *lock) extend(token string) request {
	return func(ctx context.Context, node redis.UniversalClient) (bool, error) {
		return impls.Yes(extendScript.Run(ctx, node, []string{l.env.Key}, token, l.env.Lease.Milliseconds()))
	}
}

// undecided returns the error of an extend or release to which too few nodes replied.
func undecided(t tally, cancelled error) error {
	if cancelled != nil {
		return fmt.Errorf("%w: %w: %w", impls.ErrUnknownOutcome, impls.ErrCancelled, cancelled)
	}
	return fmt.Errorf("%w: %d of %d nodes answered: %v", impls.ErrUnknownOutcome, t.yes+t.no, t.nodes, t.err)
}

// Release takes the lock back on all nodes and returns when a majority has given it up, or cannot any more: the rest goes
// on in the background. While its outcome is unknown the hold is remembered, so that the caller may try again.
func (l *lock) Release(ctx context.Context) error {
	what := "release " + l.env.Key
	if l.held == nil {
		return fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	l.held.ballot.end()
	t, err := poll(ctx, l.env, &l.background, l.delete(l.held.token), func(int) {}).
		count(ctx, tally.decided)
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

// takeBackEverywhere releases a token on all nodes, those believed unlocked included, and waits for the answers as
// long as a node may take: a try that follows at once would else find the minority that this one took. A request of the
// acquire that a release overtakes is withdrawn by itself, and waited for, too.
func (l *lock) takeBackEverywhere(ctx context.Context, h *hold) {
	h.ballot.end()
	b := poll(ctx, l.env, &l.background, l.delete(h.token), func(int) {})
	_, _ = b.count(ctx, func(tally) bool { return false }) // what is not taken back ends with its lease
	h.ballot.settle(ctx)
}

// takeBack releases a token on one node that answered too late. It runs in that node's goroutine.
func (l *lock) takeBack(node int, token string) {
	ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout(l.env)) // the caller has gone
	defer cancel()
	_, _ = l.delete(token)(ctx, l.env.Nodes[node]) // what is not taken back ends with its lease
}

// Close waits for what is under way to the nodes.
func (l *lock) Close() error {
	l.background.Wait()
	return nil
}
