package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	return evict(ctx, conn, listener, keys)
}

// What eviction changes and listens to.
const (
	notifications = "notify-keyspace-events"
	memoryPolicy  = "maxmemory-policy"
	memoryLimit   = "maxmemory"
	evictedKeys   = "__keyevent@*__:evicted"
	allEvicted    = "lockbench-evicted" // our message after the last eviction
)

// evict limits the server's memory, fills it, and restores the settings. It returns the evictions
// of all keys but its own: clients may write more.
func evict(ctx context.Context, conn *redis.Conn, listener *redis.Client, keys []string) ([]Eviction, error) {
	var used int64
	text, err := conn.Info(ctx, "memory").Result()
	if err == nil {
		used, err = strconv.ParseInt(infoLines(text)["used_memory"], 10, 64)
	}
	if err != nil {
		return nil, fmt.Errorf("INFO memory: %w", err)
	}
	before, err := settings(ctx, conn, notifications, memoryPolicy, memoryLimit)
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
	go func() {
		var all []Eviction // of all keys but the fillers, until the message that ends them, or messages is closed
		for m := range messages.Channel() {
			if m.Channel == allEvicted {
				break
			}
			if !strings.HasPrefix(m.Payload, fillerPrefix) {
				all = append(all, Eviction{m.Payload, time.Now()})
			}
		}
		heard <- all
	}()
	var fillers int
	err = change(ctx, conn, notifications, "Ee", memoryPolicy, evictionPolicy, memoryLimit, strconv.FormatInt(used+fillerRoom, 10))
	if err == nil {
		fillers, err = fillMemory(ctx, conn, keys)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout) // restore even after a cancelled run
	defer cancel()
	err = errors.Join(err, change(ctx, conn, memoryPolicy, before[memoryPolicy], memoryLimit, before[memoryLimit],
		notifications, before[notifications]))
	if fillers > 0 {
		names := make([]string, fillers) // some of them are left
		for i := range names {
			names[i] = fillerPrefix + strconv.Itoa(i)
		}
		err = errors.Join(err, conn.Del(ctx, names...).Err())
	}
	if end := conn.Publish(ctx, allEvicted, "").Err(); end != nil {
		messages.Close() // ends the listening
		err = errors.Join(err, fmt.Errorf("PUBLISH: %w", end))
	}
	return <-heard, err
}

// change changes settings, given by name and value, in this order, and goes on after an error.
func change(ctx context.Context, conn *redis.Conn, settings ...string) error {
	var errs []error
	for pair := range slices.Chunk(settings, 2) {
		if err := conn.ConfigSet(ctx, pair[0], pair[1]).Err(); err != nil {
			errs = append(errs, fmt.Errorf("CONFIG SET %s %s: %w", pair[0], pair[1], err))
		}
	}
	return errors.Join(errs...)
}

// fillMemory writes fillers until each of the keys has been missing once, and returns how many.
func fillMemory(ctx context.Context, conn *redis.Conn, keys []string) (fillers int, err error) {
	missing, filling := map[string]bool{}, make([]byte, fillerSize)
	for len(missing) < len(keys) {
		if fillers >= mostFillers {
			return fillers, fmt.Errorf("%d of %d keys are still there after %d bytes", len(keys)-len(missing), len(keys), mostFillers*fillerSize)
		}
		there := map[*redis.IntCmd]string{} // after each filler: the server evicts before it runs the next command
		_, err := conn.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range fillerBatch {
				p.Set(ctx, fillerPrefix+strconv.Itoa(fillers), filling, 0)
				fillers++
				for _, key := range keys {
					there[p.Exists(ctx, key)] = key
				}
			}
			return nil
		})
		if err != nil {
			return fillers, fmt.Errorf("fill the memory: %w", err)
		}
		for reply, key := range there {
			if reply.Val() == 0 {
				missing[key] = true
			}
		}
	}
	return fillers, nil
}
