package impls

import (
	"context"
	"errors"
	"fmt"
)

// PollUntilGranted is the waiting of the sources that poll: try, sleep Env.Poll, try again, at most Env.MaxTries
// times. It ends with the grant, with the first error that is not ErrBusy, with ErrBusy after the last try, or with
// ErrCancelled when ctx ends between two tries.
func PollUntilGranted(ctx context.Context, env Env, try func(context.Context) (Grant, error)) (Grant, error) {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return Grant{}, fmt.Errorf("acquire %s: %w: %w", env.Key, ErrCancelled, ctx.Err())
		}
		asked := env.Clock.Now()
		g, err := try(ctx)
		if err == nil && g.Asked.IsZero() {
			g.Asked = asked
		}
		if err == nil || !errors.Is(err, ErrBusy) || n == env.MaxTries {
			return g, endedBy(ctx, err)
		}
		if err := env.Clock.Sleep(ctx, env.PollInterval()); err != nil {
			return Grant{}, fmt.Errorf("acquire %s: %w: %w", env.Key, ErrCancelled, err)
		}
	}
}
