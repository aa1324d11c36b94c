package planted

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// outliving is a lock with a second watchdog, which no release stops: it renews from the first
// grant until the lock is closed.
type outliving struct {
	impls.Lock
	env   impls.Env
	renew *impls.Script
	owner *atomic.Value // the owner's name in the client's requests
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup // the watchdog; Close waits for it
	once  sync.Once
}

// watching is a client that notes the owner's name, the first argument of every script.
type watching struct {
	intercepting
	owner *atomic.Value
}

// watchOwner puts such a client into the environment.
func watchOwner(env *impls.Env) {
	owner := &atomic.Value{}
	env.Nodes = []redis.UniversalClient{watching{owner: owner, intercepting: intercepting{UniversalClient: env.Nodes[0],
		evalSha: func(_ context.Context, _ string, _ []string, args []any) *redis.Cmd {
			owner.Store(args[0])
			return nil
		}}}}
}

func outlive(renew *impls.Script) func(impls.Env, impls.Lock) impls.Lock {
	return func(env impls.Env, honest impls.Lock) impls.Lock {
		l := &outliving{Lock: honest, env: env, renew: renew, owner: env.Nodes[0].(rewriting).UniversalClient.(watching).owner}
		l.ctx, l.stop = context.WithCancel(context.Background()) // ended by Close
		return l
	}
}

// Try calls the correct lock.
func (l *outliving) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.watch(l.Lock.Try(ctx, mode))
}

// Acquire calls the correct lock.
func (l *outliving) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.watch(l.Lock.Acquire(ctx, mode))
}

func (l *outliving) watch(g impls.Grant, err error) (impls.Grant, error) {
	if err == nil {
		l.once.Do(func() {
			l.work.Go(func() {
				for l.env.Clock.Sleep(l.ctx, l.env.Lease/renewalsPerLease) == nil {
					// the next tick tries again
					_ = l.renew.Run(l.ctx, l.env.Redis(), []string{l.env.Key}, l.owner.Load(), l.env.Lease.Milliseconds()).Err()
				}
			})
		})
	}
	return g, err
}

// renewalsPerLease differs from the honest watchdog's, so that the two never ask in the same
// instant.
const renewalsPerLease = 4

// Close ends the watchdog.
func (l *outliving) Close() error {
	l.stop()
	l.work.Wait()
	return l.Lock.Close()
}
