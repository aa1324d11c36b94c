package catalogue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// story is what clients of a lock send while they compete for it, enter again, extend, release,
// give up waiting, and find the keys gone. Of locks on several nodes it is what the first was sent.
func story(t *testing.T, v impls.Variant, lease time.Duration) [][]any {
	t.Helper()
	sent := &redistest.Commands{}
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		servers := []*redistest.Server{s}
		if v.Topology == impls.Independent {
			servers = append(servers, redistest.NewVirtual(t), redistest.NewVirtual(t))
		}
		on := stage{servers, sent, lease}
		a, b := on.player(t, v, "a"), on.player(t, v, "b")
		for _, mode := range []history.Mode{history.Exclusive, history.Shared} {
			act(t, a, mode)
			act(t, b, mode)
			_, _ = a.Extend(t.Context())
			wait(t, b, history.Exclusive)
			wait(t, b, mode)
			_ = a.Release(t.Context())
			_ = a.Release(t.Context())
			_ = b.Release(t.Context())
			act(t, a, mode)
			act(t, b, history.Exclusive)
			for _, n := range servers {
				n.Live.Do("FLUSHALL")
			}
			sent.Mark("flushall")
			_, _ = a.Extend(t.Context())
			_ = a.Release(t.Context())
			_ = a.Release(t.Context())
			act(t, b, mode)
			_ = b.Release(t.Context())
		}
	})
	return sent.TakeArgs()
}

// act tries twice: the effect of a holder's second try differs from lock to lock. Refusals and
// unsupported calls are part of the story.
func act(t *testing.T, l impls.Lock, mode history.Mode) {
	t.Helper()
	for range 2 {
		if _, err := l.Try(t.Context(), mode); errors.Is(err, impls.ErrUnknownOutcome) {
			t.Fatalf("try: %v", err)
		}
	}
}

// wait returns up after a while.
func wait(t *testing.T, l impls.Lock, mode history.Mode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _ = l.Acquire(ctx, mode)
}

// stage has the settings that the clients of a story share.
type stage struct {
	servers []*redistest.Server
	sent    *redistest.Commands
	lease   time.Duration
}

// player opens a handle of which the first node's commands are recorded.
func (s stage) player(t *testing.T, v impls.Variant, owner string) impls.Lock {
	t.Helper()
	first := s.servers[0].Client(t)
	first.RecordIn(s.sent)
	env := first.Env(t, owner, s.lease)
	env.Key, env.Permits, env.Poll = "job", 1, 5*time.Millisecond
	for _, node := range s.servers[1:] {
		env.Nodes = append(env.Nodes, node.Client(t).Redis)
	}
	return redistest.Open(t, v, env)
}
