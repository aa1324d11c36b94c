package planted

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func redlockBugs() []mutant {
	return []mutant{
		{
			name: "redlock-one-look", report: "mike-marcacci/node-redlock#369",
			in: "pause-after-grant", shows: "mutual-exclusion",
			bug: "The clock is not read again when the masters' answers are there, and the lease is counted from then on.",
			env: onceATry,
			lie: countedWhenRead,
		},
		{
			name: "quorum-of-half", report: "SPSCommerce/redlock-py#6",
			in: "contended", shows: "mutual-exclusion",
			bug: "Half of the nodes are a quorum: one vote is counted that nobody gave.",
			env: assumedVote,
		},
	}
}

// tryClock is a clock that an attempt reads once: what it reads later is the first reading again. Sleeping between attempts ends one.
type tryClock struct {
	impls.Clock
	first *time.Time // zero: no attempt is under way
}

func (c tryClock) Now() time.Time {
	if c.first.IsZero() {
		*c.first = c.Clock.Now()
	}
	return *c.first
}

func (c tryClock) Sleep(ctx context.Context, d time.Duration) error {
	*c.first = time.Time{}
	return c.Clock.Sleep(ctx, d)
}

func onceATry(env *impls.Env) { env.Clock = tryClock{env.Clock, new(time.Time)} }

// countedWhenRead counts the lease from when the client has read the answers. It ends the attempt of a tryClock.
func countedWhenRead(env impls.Env, honest impls.Lock) impls.Lock {
	clock := env.Clock.(tryClock)
	restart := func(g impls.Grant, err error) (impls.Grant, error) {
		*clock.first = time.Time{}
		if err == nil {
			g.ValidUntil = clock.Clock.Now().Add(env.Lease)
		}
		return g, err
	}
	return answering{Lock: honest, granted: restart, extend: restart}
}
