package planted

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/redis/go-redis/v9"
)

func redlockBugs() []mutant {
	return []mutant{
		{
			name: "redlock-one-look", report: "mike-marcacci/node-redlock#369",
			in: "pause-after-grant", shows: "mutual-exclusion/overbelief",
			bug: "The clock is not read again when the masters' answers are there, and the lease is counted from then on.",
			env: func(env *impls.Env) { env.Clock = tryClock{env.Clock, new(time.Time)} },
			lie: countedWhenRead,
		},
		{
			name: "quorum-of-half", report: "SPSCommerce/redlock-py#6",
			in: "split-vote", shows: "mutual-exclusion/quorum-erosion",
			bug: "The client counts one vote that no node gave, so that half of the nodes are a quorum.",
			env: assumedVote,
		},
	}
}

// tryClock is a clock that an attempt reads once: what it reads later is the first reading again.
// Sleeping between attempts ends one.
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

// countedWhenRead counts the lease from when the client has read the answers. It ends the attempt
// of a tryClock.
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

// assumedVote makes the last node's client say yes to every take and every release without asking
// the node, so that half of the nodes are a quorum.
func assumedVote(env *impls.Env) {
	last := len(env.Nodes) - 1
	env.Nodes = slices.Clone(env.Nodes)
	env.Nodes[last] = intercepting{UniversalClient: env.Nodes[last],
		do: func(ctx context.Context, args []any) *redis.Cmd {
			if args[0] != "set" {
				return nil
			}
			return answered(ctx, "OK")
		},
		evalSha: func(ctx context.Context, _ string, _ []string, _ []any) *redis.Cmd { return answered(ctx, int64(1)) },
	}
}

func answered(ctx context.Context, reply any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(reply)
	return cmd
}
