package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// TestBareLoopIsRefused: a key that another process holds is a refusal, and the next client's turn
// comes.
func TestBareLoopIsRefused(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	must(t, server.Set("job", "another's"))
	lock, err := bareVariant().New(impls.Env{Nodes: []redis.UniversalClient{client}, Rand: rand.Reader, Key: "job", Lease: time.Second})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 2 {
		_, err := lock.Acquire(ctx, history.Exclusive)
		if !errors.Is(err, impls.ErrBusy) || errors.Is(err, impls.ErrUnknownOutcome) {
			t.Errorf("refused with %v, want %v", err, impls.ErrBusy)
		}
	}
}
