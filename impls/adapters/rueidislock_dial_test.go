package adapters

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// The adapter gives up an unreachable node; the library alone would dial it for ever.
func TestRueidislockGivesUpDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unused := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // a client that is not a cluster
		defer unused.Close()
		lock := &rueidisLock{majority: 1, env: impls.Env{Key: "job", Addrs: []string{"127.0.0.1:1"}, Lease: time.Second,
			Nodes: []redis.UniversalClient{unused},
			Dial:  func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }}}
		if _, err := lock.Try(t.Context(), history.Exclusive); !errors.Is(err, impls.ErrUnavailable) {
			t.Errorf("%v, want unavailable", err)
		}
	})
}
