package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// Parameters of eviction. The policy may evict any key: under LRU, keys that waiters poll would never be evicted.
const (
	evictionPolicy = "allkeys-random"
	fillerSize     = 32 << 10 // bytes of one filler key
	fillerRoom     = 2 << 20  // bytes free at the start, more than clients' buffers need
	mostFillers    = 8192     // a hundred times what fits: then give up
	fillerBatch    = 16       // filler keys per round trip
	fillerPrefix   = "lockbench-fills-memory:"
)

func (f *fleet) EvictKeys(ctx context.Context, i int, keys ...string) (int, error) {
	if f.spec.Topology == impls.Cluster {
		return 0, fmt.Errorf("evict keys: a node of a cluster takes no keys but those of its slots: %w", ErrRefused)
	}
	n, err := f.byRole(i)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	a, err := newAdmin(ctx, n.dial)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	conn := a.Conn() // the pool would dial a second connection
	defer conn.Close()
	return evictor{conn}.evict(ctx, keys)
}

// evictor fills a server's memory.
type evictor struct{ *redis.Conn }

// evict limits the server's memory, fills it, and restores the settings.
func (e evictor) evict(ctx context.Context, keys []string) (evicted int, err error) {
	before, err := e.memory(ctx)
	if err != nil {
		return 0, err
	}
	var fillers []string
	err = e.limit(ctx, before.used+fillerRoom, evictionPolicy)
	if err == nil {
		fillers, err = e.fill(ctx, keys)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout) // restore even after a cancelled run
	defer cancel()
	err = errors.Join(err, e.limit(ctx, before.limit, before.policy))
	after, merr := e.memory(ctx)
	left, derr := e.deleteAll(ctx, fillers)
	// The server holds nothing but keys and fillers.
	return int(after.evicted-before.evicted) - (len(fillers) - left), errors.Join(err, merr, derr)
}

// memory is a server's memory use and settings.
type memory struct {
	used    int64 // bytes
	limit   int64 // maxmemory, bytes; 0 = none
	policy  string
	evicted int64 // keys, since the server's start
}

func (e evictor) memory(ctx context.Context) (memory, error) {
	text, err := e.Info(ctx, "memory", "stats").Result()
	if err != nil {
		return memory{}, fmt.Errorf("INFO memory stats: %w", err)
	}
	fields := infoLines(text)
	m := memory{policy: fields["maxmemory_policy"]}
	for name, into := range map[string]*int64{"used_memory": &m.used, "maxmemory": &m.limit, "evicted_keys": &m.evicted} {
		n, nerr := strconv.ParseInt(fields[name], 10, 64)
		if nerr != nil {
			err = errors.Join(err, fmt.Errorf("INFO %s: %w", name, nerr))
		}
		*into = n
	}
	return m, err
}

// limit sets the server's memory limit and eviction policy.
func (e evictor) limit(ctx context.Context, bytes int64, policy string) error {
	for _, setting := range [...][2]string{{"maxmemory-policy", policy}, {"maxmemory", strconv.FormatInt(bytes, 10)}} {
		if err := e.ConfigSet(ctx, setting[0], setting[1]).Err(); err != nil {
			return fmt.Errorf("CONFIG SET %s %s: %w", setting[0], setting[1], err)
		}
	}
	return nil
}

// fill writes fillers until each of the keys has been missing once, and returns the fillers.
func (e evictor) fill(ctx context.Context, keys []string) (fillers []string, err error) {
	missing := map[string]bool{}
	for len(missing) < len(keys) {
		if len(fillers) >= mostFillers {
			return fillers, fmt.Errorf("%d of %d keys are still there after %d bytes", len(keys)-len(missing), len(keys), mostFillers*fillerSize)
		}
		for range fillerBatch {
			fillers = append(fillers, fillerPrefix+strconv.Itoa(len(fillers)))
		}
		if err := e.batch(ctx, fillers[len(fillers)-fillerBatch:], keys, missing); err != nil {
			return fillers, fmt.Errorf("fill the memory: %w", err)
		}
	}
	return fillers, nil
}

// batch writes some fillers and records which keys are missing after each. The server evicts before it runs the next command.
func (e evictor) batch(ctx context.Context, fillers, keys []string, missing map[string]bool) error {
	filling, there := make([]byte, fillerSize), map[*redis.IntCmd]string{}
	_, err := e.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, filler := range fillers {
			p.Set(ctx, filler, filling, 0)
			for _, key := range keys {
				there[p.Exists(ctx, key)] = key
			}
		}
		return nil
	})
	for reply, key := range there {
		if err == nil && reply.Val() == 0 {
			missing[key] = true
		}
	}
	return err
}

// deleteAll deletes keys and returns how many existed.
func (e evictor) deleteAll(ctx context.Context, keys []string) (int, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	n, err := e.Del(ctx, keys...).Result()
	return int(n), err
}
