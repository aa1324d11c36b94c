package workloads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// ErrStale: the store has accepted a write with a higher fence and refuses this one.
var ErrStale = errors.New("stale fence")

// Store is the guarded store: what the lock is there to protect.
type Store interface {
	// Read returns the value now stored under a key; 0 when there is none. With fence > 0 the store refuses older fences from now on.
	Read(ctx context.Context, key string, fence uint64) (int64, error)
	// Write stores a value. With fence > 0 the store refuses (ErrStale) once it has seen a higher fence.
	Write(ctx context.Context, key string, value int64, fence uint64) error
}

//go:embed fenced_write.lua
var fencedWriteSource string

//go:embed fenced_read.lua
var fencedReadSource string

// The scripts by which the store compares fences, each in one step with the read or the write.
var (
	fencedWrite = impls.NewScript("fenced_write.lua", fencedWriteSource)
	fencedRead  = impls.NewScript("fenced_read.lua", fencedReadSource)
)

// Scripts are the scripts of this package, for recorders that name them.
func Scripts() []*impls.Script { return []*impls.Script{fencedRead, fencedWrite} }

// RedisStore keeps the guarded values as plain keys of a Redis, under a prefix.
type RedisStore struct {
	Client redis.UniversalClient
	Prefix string
	Loose  bool // a planted bug: a write compares its fence in a step of its own
}

// loose reports whether the store of a variant is to have the bug.
func loose(v impls.Variant) bool { return v.Planted != nil && v.Planted.LooseStore }

var _ Store = RedisStore{}

// Read is GET, or, for a fenced lock, a script that notes the fence as well.
func (s RedisStore) Read(ctx context.Context, key string, fence uint64) (int64, error) {
	v, err := s.value(ctx, key, fence)
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return v, impls.Classify("read store "+key, err)
}

func (s RedisStore) value(ctx context.Context, key string, fence uint64) (int64, error) {
	if fence == 0 {
		return s.Client.Get(ctx, s.name(key)).Int64()
	}
	return fencedRead.Run(ctx, s.Client, []string{s.name(key), s.name(key) + ":fence"}, fence).Int64()
}

// Write is SET, or, for a fenced lock, a script that compares the fence first.
func (s RedisStore) Write(ctx context.Context, key string, value int64, fence uint64) error {
	if fence == 0 {
		return impls.Classify("write store "+key, s.Client.Set(ctx, s.name(key), value, 0).Err())
	}
	if s.Loose {
		return s.writeLoosely(ctx, key, value, fence)
	}
	took, err := fencedWrite.Run(ctx, s.Client, []string{s.name(key), s.name(key) + ":fence"}, value, fence).Int()
	if err != nil {
		return impls.Classify("write store "+key, err)
	}
	if took == 0 {
		return fmt.Errorf("write store %s with fence %d: %w", key, fence, ErrStale)
	}
	return nil
}

// writeLoosely compares the fence, and then writes whatever has happened since.
func (s RedisStore) writeLoosely(ctx context.Context, key string, value int64, fence uint64) error {
	seen, err := s.Client.Get(ctx, s.name(key)+":fence").Uint64()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return impls.Classify("read the fence of store "+key, err)
	case seen > fence:
		return fmt.Errorf("write store %s with fence %d: %w", key, fence, ErrStale)
	}
	return impls.Classify("write store "+key, s.Client.MSet(ctx, s.name(key), value, s.name(key)+":fence", fence).Err())
}

// name puts the value and its fence into one hash slot.
func (s RedisStore) name(key string) string { return s.Prefix + "{" + key + "}" }
