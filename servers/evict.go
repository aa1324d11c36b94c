package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// How a server is made to evict. Any key may go under the policy, whoever asked for it last, so that sooner or later each does: the least
// recently used ones would never be those that waiters ask for all the time.
const (
	evictionPolicy = "allkeys-random"
	fillerSize     = 32 << 10 // bytes of one key that fills the memory
	fillerRoom     = 2 << 20  // bytes that are left when the filling begins: what clients' buffers need must not fill it
	mostFillers    = 8192     // a key that is still there after so many, a hundred times what fits, is never evicted
	fillerBatch    = 16       // keys that fill the memory in one go: a container is a good part of a millisecond away
	fillerPrefix   = "lockbench-fills-memory:"
)

// EvictKeys fills the server's memory until each key has been evicted once. See Deployment.
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
	conn := a.Conn() // one for all: the pool would dial beside it under so many commands, and there is but one
	defer conn.Close()
	return evictor{conn}.evict(ctx, keys)
}

// evictor is our own connection to a server whose memory it fills.
type evictor struct{ *redis.Conn }

// evict makes the server small, fills it, and puts everything back as it was.
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout) // the server is put right, whatever becomes of the run
	defer cancel()
	err = errors.Join(err, e.limit(ctx, before.limit, before.policy))
	after, merr := e.memory(ctx)
	left, derr := e.deleteAll(ctx, fillers)
	// What was evicted and was none of the fillers was one of the keys: the server holds nothing else.
	return int(after.evicted-before.evicted) - (len(fillers) - left), errors.Join(err, merr, derr)
}

// memory is what a server tells of its memory.
type memory struct {
	used    int64 // bytes
	limit   int64 // maxmemory, bytes; 0 = none
	policy  string
	evicted int64 // keys, since the server began
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

// limit sets how much memory the server may use, and what it does when that is not enough.
func (e evictor) limit(ctx context.Context, bytes int64, policy string) error {
	for _, setting := range [...][2]string{{"maxmemory-policy", policy}, {"maxmemory", strconv.FormatInt(bytes, 10)}} {
		if err := e.ConfigSet(ctx, setting[0], setting[1]).Err(); err != nil {
			return fmt.Errorf("CONFIG SET %s %s: %w", setting[0], setting[1], err)
		}
	}
	return nil
}

// fill writes keys until each of the given ones was seen to be gone. It tells which it wrote.
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

// batch writes a few keys and notes which of the given ones were missing after one of them. The server evicts before it runs the next command.
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

// deleteAll deletes keys and tells how many there were.
func (e evictor) deleteAll(ctx context.Context, keys []string) (int, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	n, err := e.Del(ctx, keys...).Result()
	return int(n), err
}
