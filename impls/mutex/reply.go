package mutex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// yes reads a reply that means yes (1, OK) or no (0, nil).
func yes(cmd *redis.Cmd) (bool, error) {
	v, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return v == int64(1) || v == "OK", err
}

// text reads a reply that is a string, or nil for a missing key.
func text(cmd *redis.Cmd) (value string, there bool, err error) {
	value, err = cmd.Text()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return value, err == nil, err
}

// unsettled marks an error that came after an earlier command of the same call had changed the server: whatever
// happened to the later command, the call cannot be said to have had no effect.
func unsettled(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w: %w", impls.ErrUnknownOutcome, impls.ErrCancelled, err)
	}
	return fmt.Errorf("%w: %w", impls.ErrUnknownOutcome, err)
}

// expire gives the key its lease in a command of its own. Its reply is dropped, as in the sources: a key that has gone
// meanwhile does not take the grant back.
func expire(ctx context.Context, env impls.Env) error {
	if impls.WholeSeconds(env.Lease) {
		return env.Redis().Do(ctx, "expire", env.Key, int64(env.Lease/time.Second)).Err()
	}
	return env.Redis().Do(ctx, "pexpire", env.Key, env.Lease.Milliseconds()).Err()
}

// setIfMissing sends SET key value NX with the lease, in seconds when it is whole seconds.
func setIfMissing(ctx context.Context, env impls.Env, value string) (bool, error) {
	if impls.WholeSeconds(env.Lease) {
		return yes(env.Redis().Do(ctx, "set", env.Key, value, "ex", int64(env.Lease/time.Second), "nx"))
	}
	return yes(env.Redis().Do(ctx, "set", env.Key, value, "px", env.Lease.Milliseconds(), "nx"))
}

// setnx sends SETNX.
func setnx(ctx context.Context, env impls.Env, value string) (bool, error) {
	return yes(env.Redis().Do(ctx, "setnx", env.Key, value))
}

// del releases by deleting the key, whoever holds it.
func del(ctx context.Context, env impls.Env, _ hold) (bool, error) {
	return yes(env.Redis().Do(ctx, "del", env.Key))
}

// leaseScript is a script whose last argument is the lease: in seconds as its source prints it, and in milliseconds.
type leaseScript struct{ seconds, millis *impls.Script }

func newLeaseScript(name, source string) leaseScript {
	s := impls.NewScript(name, source)
	return leaseScript{s, s.Millis()}
}

// run calls the form that fits the lease.
func (s leaseScript) run(ctx context.Context, env impls.Env, value string) *redis.Cmd {
	keys := []string{env.Key}
	if impls.WholeSeconds(env.Lease) {
		return s.seconds.Run(ctx, env.Redis(), keys, value, int64(env.Lease/time.Second))
	}
	return s.millis.Run(ctx, env.Redis(), keys, value, env.Lease.Milliseconds())
}
