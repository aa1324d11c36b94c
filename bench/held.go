package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// reused is a provider that keeps its servers from one turn to the next, so that all locks use the
// same ones. It counts the bytes of their connections. Between turns it deletes what the turn left;
// on a user's Redis, where each turn has its own prefix, by name.
type reused struct {
	servers.Provider
	bytes atomic.Int64

	mu   sync.Mutex // guards the fields below
	up   []*kept
	lock *kept // the lock's servers in the current turn
}

// kept is a running deployment, and what it was started for.
type kept struct {
	servers.Deployment
	spec  servers.Spec
	bytes *atomic.Int64
	admin []*redis.Client // one for each node
	own   bool            // lockbench started it
}

var _ servers.Provider = (*reused)(nil)

// Start returns the servers of an earlier turn with the same needs, or starts new ones.
func (h *reused) Start(ctx context.Context, spec servers.Spec) (servers.Deployment, error) {
	own := !h.Guest()
	if own {
		spec.Prefix, spec.Derives = "", nil
	} else if err := h.end(); err != nil { // each turn is a separate guest
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.up, func(k *kept) bool { return k.spec == spec })
	if i < 0 {
		k, err := h.start(ctx, spec, own)
		if err != nil {
			return nil, err
		}
		i, h.up = len(h.up), append(h.up, k)
	}
	if spec.Name == "lock" { // the harness's name for the lock's servers; the others are the guarded store's
		h.lock = h.up[i]
	}
	return h.up[i], nil
}

func (h *reused) start(ctx context.Context, spec servers.Spec, own bool) (*kept, error) {
	d, err := h.Provider.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	k := &kept{Deployment: d, spec: spec, bytes: &h.bytes, own: own}
	for i := range d.Len() {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := d.Dial(ctx, i)
			if err != nil {
				return nil, err
			}
			return resp.Bound(c), nil
		}
		k.admin = append(k.admin, redis.NewClient(workloads.ClientOptions(workloads.Access{Dial: dial, Pool: 1}, "127.0.0.1:1")))
	}
	return k, nil
}

// current returns the lock's servers in the current turn; nil before the first.
func (h *reused) current() *kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock
}

func (h *reused) end() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, k := range h.up {
		for _, c := range k.admin {
			errs = append(errs, c.Close())
		}
		errs = append(errs, k.Deployment.Close())
	}
	h.up, h.lock = nil, nil
	return errors.Join(errs...)
}

// Close ends a turn: it deletes what the turn left, scripts included, and keeps the servers. No
// client is connected then, since a client that caches keys would be notified that all of them are
// invalid.
func (k *kept) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	if !k.own {
		return k.Deployment.Close()
	}
	var errs []error
	for _, c := range k.admin {
		if err := c.FlushAll(ctx).Err(); err != nil && !strings.HasPrefix(err.Error(), "READONLY") {
			errs = append(errs, fmt.Errorf("delete what the turn left: %w", err))
		}
		if err := c.ScriptFlush(ctx).Err(); err != nil {
			errs = append(errs, fmt.Errorf("delete the scripts that the turn left: %w", err))
		}
	}
	return errors.Join(errs...)
}

// adminTimeout bounds the administrative requests beside the measurement.
const adminTimeout = 10 * time.Second

// Dial returns a connection whose bytes are counted.
func (k *kept) Dial(ctx context.Context, node int) (net.Conn, error) {
	c, err := k.Deployment.Dial(ctx, node)
	if err != nil {
		return nil, err
	}
	count := func(p []byte) { k.bytes.Add(int64(len(p))) }
	return &resp.Tap{Conn: c, Out: count, In: count}, nil
}

// cpu returns the processor time that the servers report, summed over the nodes; negative if one
// did not report it.
func (k *kept) cpu(ctx context.Context) (sum time.Duration) {
	for _, c := range k.admin {
		text, err := c.Info(ctx, "cpu").Result()
		if err != nil {
			return -1
		}
		for line := range strings.SplitSeq(text, "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			if name == "used_cpu_sys" || name == "used_cpu_user" {
				seconds, _ := strconv.ParseFloat(value, 64)
				sum += time.Duration(seconds * float64(time.Second))
			}
		}
	}
	return sum
}

// The PINGs that measure the round trip of a turn, each after a pause, so that the processors are
// as idle as before a hand-over.
const (
	pings     = 20
	pingPause = time.Millisecond
)

// roundTrip returns the median time of a PING to the first node; 0 if it does not answer.
func (k *kept) roundTrip(ctx context.Context) time.Duration {
	var took []int64
	for range pings {
		time.Sleep(pingPause)
		begin := time.Now()
		if k.admin[0].Ping(ctx).Err() != nil {
			return 0
		}
		took = append(took, int64(time.Since(begin)))
	}
	slices.Sort(took)
	return time.Duration(quantile(took, 0.5))
}
