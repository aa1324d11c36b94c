package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// Parameters of eviction. The policy may evict any key: LRU would never evict keys that waiters
// poll.
const (
	evictionPolicy = "allkeys-random"
	fillerSize     = 32 << 10 // bytes of one filler key
	fillerRoom     = 2 << 20  // bytes free at the start, more than clients' buffers need
	mostFillers    = 8192     // give up after a hundred times what fits
	fillerBatch    = 16       // filler keys per round trip
	fillerPrefix   = "lockbench-fills-memory:"
)

// Eviction is one eviction of a key.
type Eviction struct {
	Key string
	At  time.Time // when the server reported it, at once
}

func (f *fleet) EvictKeys(ctx context.Context, i int, keys ...string) ([]Eviction, error) {
	if f.spec.Topology == impls.Cluster {
		return nil, fmt.Errorf("evict keys: a cluster node accepts only keys of its slots: %w", ErrRefused)
	}
	n, err := f.byRole(i)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	a, err := newAdmin(ctx, n.dial)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	conn := a.Conn() // the pool would dial a second connection
	defer conn.Close()
	listener, err := newAdmin(ctx, n.dial)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	return evictor{conn}.evict(ctx, listener, keys)
}

type evictor struct{ *redis.Conn }

// What an evictor listens to.
const (
	notifications = "notify-keyspace-events"
	evictedKeys   = "__keyevent@*__:evicted"
	allEvicted    = "lockbench-evicted" // our message after the last eviction
)

// evict limits the server's memory, fills it, and restores the settings. It returns the evictions
// of all keys but its own: clients may write more.
func (e evictor) evict(ctx context.Context, listener *redis.Client, keys []string) ([]Eviction, error) {
	before, err := e.memory(ctx)
	if err != nil {
		return nil, err
	}
	messages := listener.PSubscribe(ctx, evictedKeys, allEvicted)
	defer messages.Close()
	for range 2 {
		if _, err := messages.Receive(ctx); err != nil {
			return nil, fmt.Errorf("PSUBSCRIBE: %w", err)
		}
	}
	heard := make(chan []Eviction, 1)
	go func() { heard <- evictions(messages) }()
	var fillers int
	err = errors.Join(e.set(ctx, notifications, "Ee"), e.limit(ctx, before.used+fillerRoom, evictionPolicy))
	if err == nil {
		fillers, err = e.fill(ctx, keys)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout) // restore even after a cancelled run
	defer cancel()
	err = errors.Join(err, e.limit(ctx, before.limit, before.policy), e.set(ctx, notifications, before.notifies), e.deleteFillers(ctx, fillers))
	if end := e.Publish(ctx, allEvicted, "").Err(); end != nil {
		messages.Close() // ends evictions
		err = errors.Join(err, fmt.Errorf("PUBLISH: %w", end))
	}
	return <-heard, err
}

// evictions reads the evictions of all keys but the fillers until the message that ends them, or
// until the subscription is closed.
func evictions(messages *redis.PubSub) (all []Eviction) {
	for m := range messages.Channel() {
		if m.Channel == allEvicted {
			break
		}
		if !strings.HasPrefix(m.Payload, fillerPrefix) {
			all = append(all, Eviction{m.Payload, time.Now()})
		}
	}
	return all
}

type memory struct {
	used     int64 // bytes
	limit    int64 // maxmemory, bytes; 0 = none
	policy   string
	notifies string // notify-keyspace-events
}

func (e evictor) memory(ctx context.Context) (memory, error) {
	text, err := e.Info(ctx, "memory").Result()
	if err != nil {
		return memory{}, fmt.Errorf("INFO memory: %w", err)
	}
	fields := infoLines(text)
	m := memory{policy: fields["maxmemory_policy"]}
	for name, into := range map[string]*int64{"used_memory": &m.used, "maxmemory": &m.limit} {
		n, nerr := strconv.ParseInt(fields[name], 10, 64)
		if nerr != nil {
			err = errors.Join(err, fmt.Errorf("INFO %s: %w", name, nerr))
		}
		*into = n
	}
	notifies, nerr := e.ConfigGet(ctx, notifications).Result()
	if nerr != nil {
		err = errors.Join(err, fmt.Errorf("CONFIG GET %s: %w", notifications, nerr))
	}
	m.notifies = notifies[notifications]
	return m, err
}

func (e evictor) limit(ctx context.Context, bytes int64, policy string) error {
	return errors.Join(e.set(ctx, "maxmemory-policy", policy), e.set(ctx, "maxmemory", strconv.FormatInt(bytes, 10)))
}

func (e evictor) set(ctx context.Context, name, value string) error {
	if err := e.ConfigSet(ctx, name, value).Err(); err != nil {
		return fmt.Errorf("CONFIG SET %s %s: %w", name, value, err)
	}
	return nil
}

// fill writes fillers until each of the keys has been missing once, and returns how many.
func (e evictor) fill(ctx context.Context, keys []string) (fillers int, err error) {
	missing := map[string]bool{}
	for len(missing) < len(keys) {
		if fillers >= mostFillers {
			return fillers, fmt.Errorf("%d of %d keys are still there after %d bytes", len(keys)-len(missing), len(keys), mostFillers*fillerSize)
		}
		fillers += fillerBatch
		if err := e.batch(ctx, fillers-fillerBatch, keys, missing); err != nil {
			return fillers, fmt.Errorf("fill the memory: %w", err)
		}
	}
	return fillers, nil
}

func filler(i int) string { return fillerPrefix + strconv.Itoa(i) }

// batch writes some fillers, from one on, and records which keys are missing after each. The server
// evicts before it runs the next command.
func (e evictor) batch(ctx context.Context, from int, keys []string, missing map[string]bool) error {
	filling, there := make([]byte, fillerSize), map[*redis.IntCmd]string{}
	_, err := e.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range fillerBatch {
			p.Set(ctx, filler(from+i), filling, 0)
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

// deleteFillers deletes the first n fillers, those that are left.
func (e evictor) deleteFillers(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	names := make([]string, n)
	for i := range names {
		names[i] = filler(i)
	}
	return e.Del(ctx, names...).Err()
}
