package planted

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// rewriting is a client that sends changed scripts in place of those that the lock means.
type rewriting struct {
	redis.UniversalClient
	changed map[string]*impls.Script // by the digest of the script that is replaced
}

// EvalSha calls the changed script when there is one. A server that does not know it is sent its
// source.
func (r rewriting) EvalSha(ctx context.Context, digest string, keys []string, args ...any) *redis.Cmd {
	if c, ok := r.changed[digest]; ok {
		return c.Run(ctx, r.UniversalClient, keys, args...)
	}
	return r.UniversalClient.EvalSha(ctx, digest, keys, args...)
}

// intercepting is a client whose plain commands and scripts may be answered in place of the server.
type intercepting struct {
	redis.UniversalClient
	do      func(ctx context.Context, args []any) *redis.Cmd                               // nil answer: pass on
	evalSha func(ctx context.Context, digest string, keys []string, args []any) *redis.Cmd // nil answer: pass on
}

func (i intercepting) Do(ctx context.Context, args ...any) *redis.Cmd {
	if i.do != nil {
		if answer := i.do(ctx, args); answer != nil {
			return answer
		}
	}
	return i.UniversalClient.Do(ctx, args...)
}

func (i intercepting) EvalSha(ctx context.Context, digest string, keys []string, args ...any) *redis.Cmd {
	if i.evalSha != nil {
		if answer := i.evalSha(ctx, digest, keys, args); answer != nil {
			return answer
		}
	}
	return i.UniversalClient.EvalSha(ctx, digest, keys, args...)
}
