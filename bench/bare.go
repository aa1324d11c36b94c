package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// bareName is the name of the reference.
const bareName = "bare"

//go:embed bare_release.lua
var bareReleaseSource string

// bareRelease is a script of go-redis, as in a program without a lock library.
var bareRelease = redis.NewScript(bareReleaseSource)

// bareVariant returns the reference: the commands of a token lock, SET NX PX and a
// compare-and-delete script, sent by a plain go-redis client without a lock library. Its waiting
// costs nothing, so any additional time is the lock's own cost. The variant is for the clients of
// one turn.
func bareVariant() impls.Variant {
	// Instead of a lock's waiting, the clients of this process are admitted one at a time per key,
	// first come, first served, without a request: by a channel with room for one, to which blocked
	// senders send in order of arrival.
	var queues sync.Map
	return impls.Variant{
		Name: bareName, Summary: "The commands of a token lock on a plain client; waiting is free.", Kind: history.Mutex, Topology: impls.Standalone,
		Traits: impls.Traits{UniqueToken: true},
		New: func(env impls.Env) (impls.Lock, error) {
			queue, _ := queues.LoadOrStore(env.Key, make(chan struct{}, 1))
			turn, ms := queue.(chan struct{}), env.Lease.Milliseconds()
			return &bare{redis: env.Redis(), rand: env.Rand, key: env.Key, turn: turn, ms: ms}, nil
		},
	}
}

// bare is one client's handle on one key.
type bare struct {
	redis redis.UniversalClient
	rand  io.Reader
	key   string
	turn  chan struct{}
	ms    int64
	token string
}

// Try calls Acquire; the bench never calls it.
func (l *bare) Try(ctx context.Context, m history.Mode) (impls.Grant, error) {
	return l.Acquire(ctx, m)
}

// Acquire waits for the client's turn and sends SET NX PX.
func (l *bare) Acquire(ctx context.Context, _ history.Mode) (g impls.Grant, err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return g, fmt.Errorf("acquire %s: %w: %w", l.key, impls.ErrCancelled, ctx.Err())
	}
	if l.token, err = impls.NewToken(l.rand); err == nil {
		err = l.redis.Do(ctx, "set", l.key, l.token, "nx", "px", l.ms).Err()
	}
	if errors.Is(err, redis.Nil) { // the key is there: another process holds it, or a release has failed
		err = impls.ErrBusy
	}
	if err != nil {
		<-l.turn
		return g, impls.Classify("acquire "+l.key, err)
	}
	return impls.Grant{Token: l.token}, nil
}

// Extend is not supported: the bench does not extend.
func (l *bare) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, impls.ErrUnsupported
}

// Release runs the script and admits the next client.
func (l *bare) Release(ctx context.Context) error {
	err := bareRelease.Run(ctx, l.redis, []string{l.key}, l.token).Err()
	<-l.turn
	return impls.Classify("release "+l.key, err)
}

func (l *bare) Close() error { return nil }
