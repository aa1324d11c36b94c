package impls

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Leased returns the constructor of a lock with a lease: open, after it has refused a lease that is
// not whole milliseconds, at least one.
func Leased(open func(Env) (Lock, error)) func(Env) (Lock, error) {
	return func(env Env) (Lock, error) {
		if env.Lease < time.Millisecond || env.Lease%time.Millisecond != 0 {
			return nil, fmt.Errorf("lease %v: want whole milliseconds, at least one", env.Lease)
		}
		return open(env)
	}
}

// LeaseScript is a script whose last argument is the lease: in seconds, as in its source, or in
// milliseconds for leases that are not whole seconds.
type LeaseScript struct{ Seconds, Millis *Script }

// NewLeaseScript returns both forms of a script, whose source has seconds.
func NewLeaseScript(s *Script) LeaseScript { return LeaseScript{s, s.Millis()} }

// Run calls the form that fits the lease on the first node, with the lock's key and the lease as
// the last argument.
func (s LeaseScript) Run(ctx context.Context, env Env, args ...any) *redis.Cmd {
	script, amount := s.Millis, env.Lease.Milliseconds()
	if WholeSeconds(env.Lease) {
		script, amount = s.Seconds, int64(env.Lease/time.Second)
	}
	return script.Run(ctx, env.Redis(), []string{env.Key}, append(args, amount)...)
}

// SetMissing sends SET key value NX with the lease, EX if it is whole seconds and PX otherwise. It
// returns false if the key exists.
func SetMissing(ctx context.Context, env Env, value string) (bool, error) {
	if WholeSeconds(env.Lease) {
		return Yes(env.Redis().Do(ctx, "set", env.Key, value, "ex", int64(env.Lease/time.Second), "nx"))
	}
	return Yes(env.Redis().Do(ctx, "set", env.Key, value, "px", env.Lease.Milliseconds(), "nx"))
}
