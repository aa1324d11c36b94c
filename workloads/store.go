package workloads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// errStale is returned for a write with a lower fence than one that the store has seen.
var errStale = errors.New("stale fence")

// Store is the guarded store, which the lock protects.
type Store interface {
	// Read returns what is stored under a key, the zero value if nothing is. With fence > 0 the
	// store refuses lower fences from now on.
	Read(ctx context.Context, key string, fence uint64) (Stored, error)
	// Write stores a value and returns its version. With fence > 0 it returns an error if the store
	// has seen a higher fence.
	Write(ctx context.Context, key string, value int64, fence uint64) (version uint64, err error)
}

// Stored is a value and its version: the number of writes of the key up to this one.
type Stored struct {
	Value   int64
	Version uint64
}

//go:embed store_write.lua
var writeSource string

//go:embed store_read.lua
var readSource string

// The scripts compare the fence and read or write atomically.
var (
	storeWrite = impls.NewScript("store_write.lua", writeSource)
	storeRead  = impls.NewScript("store_read.lua", readSource)
)

// NameScripts adds the names of this package's scripts to names by digest, for recorders.
func NameScripts(names map[string]string) map[string]string {
	for _, s := range []*impls.Script{storeRead, storeWrite} {
		names[s.Digest()] = s.Name
	}
	return names
}

// The fields of a guarded value, as in the scripts.
const (
	valueField   = "value"
	versionField = "version"
	fenceField   = "fence"
)

// redisStore keeps each guarded value as a hash under a prefix.
type redisStore struct {
	Client redis.UniversalClient
	Prefix string
	Loose  bool // planted bug: Write does not compare and write atomically
}

var _ Store = redisStore{}

// Read runs HMGET, or for a fenced lock a script that also records the fence.
func (s redisStore) Read(ctx context.Context, key string, fence uint64) (Stored, error) {
	var fields []any
	var err error
	if fence == 0 {
		fields, err = s.Client.HMGet(ctx, s.Prefix+key, valueField, versionField).Result()
	} else {
		fields, err = storeRead.Run(ctx, s.Client, []string{s.Prefix + key}, fence).Slice()
	}
	if err == nil && len(fields) != 2 {
		err = fmt.Errorf("want a value and a version, found %d fields", len(fields))
	}
	var stored Stored
	if err == nil {
		if text, ok := fields[0].(string); ok { // nil counts as 0
			stored.Value, err = strconv.ParseInt(text, 10, 64)
		}
		if text, ok := fields[1].(string); ok && err == nil {
			stored.Version, err = strconv.ParseUint(text, 10, 64)
		}
	}
	return stored, impls.Classify("read store "+key, err)
}

// Write runs the script that compares the fence.
func (s redisStore) Write(ctx context.Context, key string, value int64, fence uint64) (uint64, error) {
	stale := func() error { return fmt.Errorf("write store %s with fence %d: %w", key, fence, errStale) }
	if s.Loose && fence > 0 { // it compares in a command of its own
		seen, err := s.Client.HGet(ctx, s.Prefix+key, fenceField).Uint64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, impls.Classify("read the fence of store "+key, err)
		}
		if seen > fence {
			return 0, stale()
		}
		fence = 0
	}
	version, err := storeWrite.Run(ctx, s.Client, []string{s.Prefix + key}, value, fence).Uint64()
	if err != nil {
		return 0, impls.Classify("write store "+key, err)
	}
	if version == 0 {
		return 0, stale()
	}
	return version, nil
}
