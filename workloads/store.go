package workloads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// errStale is returned for a write with a lower fence than one that the store has seen.
var errStale = errors.New("stale fence")

// Store is the guarded store, which the lock protects.
type Store interface {
	// Read returns the value under a key; 0 if there is none. With fence > 0 the store refuses lower fences from now on.
	Read(ctx context.Context, key string, fence uint64) (int64, error)
	// Write stores a value. With fence > 0 it returns an error if the store has seen a higher fence.
	Write(ctx context.Context, key string, value int64, fence uint64) error
}

//go:embed fenced_write.lua
var fencedWriteSource string

//go:embed fenced_read.lua
var fencedReadSource string

// The scripts compare the fence and read or write atomically.
var (
	fencedWrite = impls.NewScript("fenced_write.lua", fencedWriteSource)
	fencedRead  = impls.NewScript("fenced_read.lua", fencedReadSource)
)

// NameScripts adds the names of this package's scripts to names by digest, for recorders.
func NameScripts(names map[string]string) map[string]string {
	for _, s := range []*impls.Script{fencedRead, fencedWrite} {
		names[s.Digest()] = s.Name
	}
	return names
}

// redisStore keeps the guarded values as plain keys under a prefix.
type redisStore struct {
	Client redis.UniversalClient
	Prefix string
	Loose  bool // planted bug: Write does not compare and write atomically
}

var _ Store = redisStore{}

// Read runs GET, or for a fenced lock a script that also records the fence.
func (s redisStore) Read(ctx context.Context, key string, fence uint64) (int64, error) {
	v, err := s.value(ctx, key, fence)
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return v, impls.Classify("read store "+key, err)
}

func (s redisStore) value(ctx context.Context, key string, fence uint64) (int64, error) {
	if fence == 0 {
		return s.Client.Get(ctx, s.name(key)).Int64()
	}
	return fencedRead.Run(ctx, s.Client, []string{s.name(key), s.name(key) + ":fence"}, fence).Int64()
}

// Write runs SET, or for a fenced lock a script that compares the fence first.
func (s redisStore) Write(ctx context.Context, key string, value int64, fence uint64) error {
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
		return fmt.Errorf("write store %s with fence %d: %w", key, fence, errStale)
	}
	return nil
}

// writeLoosely compares the fence and writes in two commands.
func (s redisStore) writeLoosely(ctx context.Context, key string, value int64, fence uint64) error {
	seen, err := s.Client.Get(ctx, s.name(key)+":fence").Uint64()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return impls.Classify("read the fence of store "+key, err)
	case seen > fence:
		return fmt.Errorf("write store %s with fence %d: %w", key, fence, errStale)
	}
	return impls.Classify("write store "+key, s.Client.MSet(ctx, s.name(key), value, s.name(key)+":fence", fence).Err())
}

// name returns the key of a value, with a hash tag: its fence has the same slot.
func (s redisStore) name(key string) string { return s.Prefix + "{" + key + "}" }
