package planted

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// assumedVote makes the last node's client say yes to every take and every release without asking the node, so that half of the nodes
// are a quorum.
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
