package subject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

type remote struct {
	child *Child
	env   impls.Env

	// the child has made its handle; otherwise no server could be reached, and the next request
	// asks for it again
	made bool
	mu   sync.Mutex    // protects what follows
	lost chan struct{} // of the current hold; nil if there is none
	// the line of the child's last loss notice, which may be read before the grant that it ends is
	// processed
	lostAt int
}

var _ impls.Lock = (*remote)(nil)

// Open makes the child's handle on env.Key, with Key, Owner, Lease, Poll, Permits and Addrs of env,
// which are a cluster's if Nodes are; Clock and OnRenew are used here. If the child's servers are
// unavailable, the first request that reaches them makes it; until then each ends with
// impls.ErrUnavailable.
func (c *Child) Open(ctx context.Context, env impls.Env) (impls.Lock, error) {
	l := &remote{child: c, env: env}
	if err := l.open(ctx); err != nil && !errors.Is(err, impls.ErrUnavailable) {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.locks[env.Key] = l
	return l, nil
}

// open asks the child for its handle, unless it has made it.
func (l *remote) open(ctx context.Context) error {
	if l.made {
		return nil
	}
	c, env := l.child, l.env
	r, err := c.call(ctx, Request{Op: opNew, Key: env.Key, Client: c.client, Owner: env.Owner, Servers: env.Addrs, Sentinel: env.Master, Cluster: env.OnCluster(),
		Lease: millis(env.Lease), Poll: millis(env.PollInterval()), Permits: env.Permits, Skew: millis(c.Skew)})
	if err != nil {
		return err
	}
	err = r.outcome("new " + env.Key)
	if err != nil && !errors.Is(err, impls.ErrUnsupported) && !errors.Is(err, impls.ErrUnavailable) {
		return fmt.Errorf("%s %s: %w: %w", c.client, c.command, ErrProtocol, err)
	}
	l.made = err == nil
	return err
}

// request sends a request about the lock, for which the child needs its handle.
func (l *remote) request(ctx context.Context, q Request) (Reply, error) {
	if err := l.open(ctx); err != nil {
		return Reply{}, err
	}
	q.Key = l.env.Key
	return l.child.call(ctx, q)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (l *remote) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.ask(ctx, Request{Op: opTry}, mode)
}

func (l *remote) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	q := Request{Op: opAcquire}
	if deadline, ok := ctx.Deadline(); ok {
		q.Wait = max(millis(time.Until(deadline)), 1)
	}
	return l.ask(ctx, q, mode)
}

func (l *remote) ask(ctx context.Context, q Request, mode history.Mode) (impls.Grant, error) {
	if mode == history.Shared {
		q.Mode = "shared"
	}
	r, err := l.request(ctx, q)
	if err != nil {
		return impls.Grant{}, err
	}
	if err := r.outcome(q.Op); err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, l.env.Key, err)
	}
	return l.grant(r), nil
}

// grant returns the grant in a reply, by the client's clock.
func (l *remote) grant(r Reply) impls.Grant {
	g := impls.Grant{Token: r.Token, Fence: r.Fence}
	if r.UntilLost {
		g.ValidUntil = impls.UntilLost
	}
	now := l.said(r)
	if r.Valid != nil {
		g.ValidUntil = now.Add(duration(*r.Valid))
	}
	if r.Asked != nil {
		g.Asked = now.Add(-duration(*r.Asked))
	}
	if r.UntilLost || slices.Contains(l.child.about.Can, "lost") {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.lost == nil {
			l.lost = make(chan struct{})
		}
		g.Lost = l.lost
		if l.lostAt > r.line {
			close(l.lost)
			l.lost = nil
		}
	}
	return g
}

// said returns when the child wrote a reply, by the client's clock: as long ago as the machine's
// clock says, or else now.
func (l *remote) said(r Reply) time.Time {
	now := l.env.Clock.Now()
	if l.child.SameClock && r.At > 0 {
		now = now.Add(-max(time.Since(time.Unix(0, r.At)), 0))
	}
	return now
}

// duration returns a time of at most a century, for which a Duration has room.
func duration(ms float64) time.Duration {
	const century = 100 * 366 * 24 * float64(time.Hour)
	return time.Duration(min(max(ms*float64(time.Millisecond), -century), century))
}

func (l *remote) notify(r Reply) {
	if r.Renewed != "" {
		if l.env.OnRenew != nil {
			now := l.said(r)
			renewal := impls.Renewal{Token: r.Token, Call: now, Return: now}
			if r.Asked != nil {
				renewal.Call = now.Add(-duration(*r.Asked))
			}
			if r.Valid != nil {
				renewal.ValidUntil = now.Add(duration(*r.Valid))
			}
			renewal.Err = r.outcome("renewal of " + r.Renewed)
			l.env.OnRenew(renewal)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lostAt = r.line
	if l.lost != nil {
		close(l.lost)
		l.lost = nil
	}
}

func (l *remote) Extend(ctx context.Context) (impls.Grant, error) {
	r, err := l.request(ctx, Request{Op: opExtend})
	if err == nil {
		err = r.outcome("extend " + l.env.Key)
	}
	if err != nil {
		return impls.Grant{}, err
	}
	return l.grant(r), nil
}

func (l *remote) Release(ctx context.Context) error {
	r, err := l.request(ctx, Request{Op: opRelease})
	if err == nil {
		err = r.outcome("release " + l.env.Key)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = nil
	return err
}

// Close ends the handle's background work. It returns nil if the child has ended or does not know
// the request.
func (l *remote) Close() error {
	if l.child.Ended() || !l.made {
		return nil
	}
	r, err := l.child.call(context.Background(), Request{Op: opClose, Key: l.env.Key})
	if errors.Is(err, impls.ErrCrashed) {
		return nil
	}
	if word := r.Error; err == nil && (word == "unknown" || word == "unavailable") {
		return r.outcome("close " + l.env.Key)
	}
	return err
}
