package adapters

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// redsyncLock is redsync on all nodes of the environment.
type redsyncLock struct {
	env   impls.Env
	mutex *redsync.Mutex
	held  bool
}

var _ impls.Lock = (*redsyncLock)(nil)

// openRedsync keeps the library's 32 tries and its delays of 50 to 250 ms, drawn from the client's
// randomness.
func openRedsync(env impls.Env) (impls.Lock, error) {
	return newRedsync(env, redsync.WithRetryDelayFunc(func(int) time.Duration {
		share := 0.5
		var b [4]byte
		if _, err := env.Rand.Read(b[:]); err == nil {
			share = float64(binary.LittleEndian.Uint32(b[:])) / (1 << 32)
		}
		return 50*time.Millisecond + time.Duration(share*float64(200*time.Millisecond))
	}))
}

// openRedsyncNormalised tries at the poll interval until its context ends or the tries are used up.
func openRedsyncNormalised(env impls.Env) (impls.Lock, error) {
	tries := env.MaxTries
	if tries == 0 {
		tries = math.MaxInt32
	}
	return newRedsync(env, redsync.WithRetryDelay(env.PollInterval()), redsync.WithTries(tries))
}

func newRedsync(env impls.Env, options ...redsync.Option) (impls.Lock, error) {
	pools := make([]redsyncredis.Pool, len(env.Nodes))
	for i, n := range env.Nodes {
		pools[i] = goredis.NewPool(n)
	}
	options = append(options, redsync.WithExpiry(env.Lease),
		redsync.WithGenValueFunc(func() (string, error) { return impls.NewToken(env.Rand) }))
	return &redsyncLock{env: env, mutex: redsync.New(pools...).NewMutex(env.Key, options...)}, nil
}

// Try is the library's TryLock.
func (l *redsyncLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.lock(ctx, mode, l.mutex.TryLockContext)
}

// Acquire is the library's Lock.
func (l *redsyncLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.lock(ctx, mode, l.mutex.LockContext)
}

func (l *redsyncLock) lock(ctx context.Context, mode history.Mode, lock func(context.Context) error) (impls.Grant, error) {
	if err := exclusive(l.env, mode); err != nil {
		return impls.Grant{}, err
	}
	if err := lock(ctx); err != nil {
		return impls.Grant{}, redsyncRefusal(ctx, "acquire "+l.env.Key, err)
	}
	l.held = true
	return l.grant(), nil
}

func (l *redsyncLock) grant() impls.Grant {
	return impls.Grant{Token: l.mutex.Value(), ValidUntil: byClientsClock(l.env, l.mutex.Until())}
}

// redsyncRefusal classifies the error of a lock. The library returns ErrFailed for a context that
// ended between two tries, and for a grant that came after its validity.
func redsyncRefusal(ctx context.Context, what string, err error) error {
	var trouble *redsync.RedisError
	switch {
	case taken(err):
		return named(what, impls.ErrBusy, err)
	case errors.As(err, &trouble):
		return impls.ClassifyIn(ctx, what, trouble.Err)
	case errors.Is(err, redsync.ErrFailed) && impls.Ended(ctx):
		return named(what, impls.ErrCancelled, err)
	}
	return named(what, impls.ErrUnavailable, err)
}

// taken reports whether a quorum of nodes was taken, or all nodes that did not grant were taken and
// none failed.
func taken(err error) bool {
	var quorum *redsync.ErrTaken
	var node *redsync.ErrNodeTaken
	var trouble *redsync.RedisError
	return errors.As(err, &quorum) || errors.As(err, &node) && !errors.As(err, &trouble)
}

// Extend is the library's Extend. An extend that came after its validity has restarted the lease,
// and may be late.
func (l *redsyncLock) Extend(ctx context.Context) (impls.Grant, error) {
	what := "extend " + l.env.Key
	if !l.held {
		return impls.Grant{}, fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	ok, err := l.mutex.ExtendContext(ctx)
	if ok {
		return l.grant(), nil
	}
	if errors.Is(err, redsync.ErrExtendFailed) {
		return impls.Grant{}, named(what, impls.ErrUnknownOutcome, err)
	}
	return impls.Grant{}, l.ended(ctx, what, err)
}

// Release is the library's Unlock.
func (l *redsyncLock) Release(ctx context.Context) error {
	what := "release " + l.env.Key
	if !l.held {
		return fmt.Errorf("%s: %w", what, impls.ErrNotHeld)
	}
	ok, err := l.mutex.UnlockContext(ctx)
	if ok {
		l.held = false
		return nil
	}
	return l.ended(ctx, what, err)
}

// ended classifies the error of an extend or an unlock that less than a quorum of nodes granted.
func (l *redsyncLock) ended(ctx context.Context, what string, err error) error {
	var trouble *redsync.RedisError
	if errors.As(err, &trouble) && !taken(err) {
		why := trouble.Err
		if len(l.env.Nodes) > 1 { // whatever kept this node from it, others may have done it
			why = fmt.Errorf("%w: %v", impls.ErrUnknownOutcome, err)
		}
		return impls.ClassifyIn(ctx, what, why)
	}
	l.held = false
	return named(what, impls.ErrLost, err)
}

// Close has nothing to end.
func (l *redsyncLock) Close() error { return nil }
