package planted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// answering is a lock whose results may be changed before the client gets them.
type answering struct {
	impls.Lock
	granted func(g impls.Grant, err error) (impls.Grant, error) // of Try and Acquire
	extend  func(g impls.Grant, err error) (impls.Grant, error)
}

// Try calls the correct lock.
func (a answering) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return through(a.granted)(a.Lock.Try(ctx, mode))
}

// Acquire calls the correct lock.
func (a answering) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return through(a.granted)(a.Lock.Acquire(ctx, mode))
}

// Extend calls the correct lock.
func (a answering) Extend(ctx context.Context) (impls.Grant, error) {
	return through(a.extend)(a.Lock.Extend(ctx))
}

func through(change func(impls.Grant, error) (impls.Grant, error)) func(impls.Grant, error) (impls.Grant, error) {
	if change == nil {
		return func(g impls.Grant, err error) (impls.Grant, error) { return g, err }
	}
	return change
}

// namelessGrants hides tokens that are not unique: a record may not hold the same one twice.
func namelessGrants(_ impls.Env, honest impls.Lock) impls.Lock {
	return answering{Lock: honest, granted: func(g impls.Grant, err error) (impls.Grant, error) {
		g.Token = ""
		return g, err
	}}
}

// extendAlwaysYes says that a lease was restarted, whatever the server said.
func extendAlwaysYes(env impls.Env, honest impls.Lock) impls.Lock {
	return answering{Lock: honest, extend: func(g impls.Grant, err error) (impls.Grant, error) {
		if err != nil {
			return impls.Grant{ValidUntil: env.Clock.Now().Add(env.Lease)}, nil
		}
		return g, nil
	}}
}

// unknownIsBusy takes a lost reply for a refusal.
func unknownIsBusy(env impls.Env, honest impls.Lock) impls.Lock {
	return answering{Lock: honest, granted: func(g impls.Grant, err error) (impls.Grant, error) {
		if errors.Is(err, impls.ErrUnknownOutcome) {
			return impls.Grant{}, fmt.Errorf("acquire %s: %w", env.Key, impls.ErrBusy)
		}
		return g, err
	}}
}

// countedFromReply counts the lease from the reply instead of from the request.
func countedFromReply(env impls.Env, honest impls.Lock) impls.Lock {
	restart := func(g impls.Grant, err error) (impls.Grant, error) {
		if err == nil {
			g.ValidUntil = env.Clock.Now().Add(env.Lease)
		}
		return g, err
	}
	return answering{Lock: honest, granted: restart, extend: restart}
}

// oneLook is a clock that answers every second reading with the one before: an attempt reads it
// once where it should read it twice.
type oneLook struct {
	impls.Clock
	last *time.Time // zero: the next reading is a true one
}

func (c oneLook) Now() time.Time {
	if last := *c.last; !last.IsZero() {
		*c.last = time.Time{}
		return last
	}
	*c.last = c.Clock.Now()
	return *c.last
}

// repeated is a source of one text, from its beginning at each call.
type repeated string

var _ io.Reader = repeated("")

func (r repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r[i%len(r)]
	}
	return len(b), nil
}

// counting is a lock on one name that shares a count with the client's other locks.
type counting struct {
	answering
	held *atomic.Int64
}

// countTogether releases on the server only what the client releases last.
func countTogether(env impls.Env, honest impls.Lock) impls.Lock {
	held := env.Shared.Get("holds of any name", func() any { return &atomic.Int64{} }).(*atomic.Int64)
	return counting{held: held, answering: answering{Lock: honest, granted: func(g impls.Grant, err error) (impls.Grant, error) {
		if err == nil {
			held.Add(1)
		}
		return g, err
	}}}
}

// Release calls the correct lock if nothing else is held.
func (c counting) Release(ctx context.Context) error {
	if c.held.Add(-1) > 0 {
		return nil
	}
	return c.Lock.Release(ctx)
}
