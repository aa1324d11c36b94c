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

	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/workloads"
)

// held is a provider whose servers stay up from one turn to the next, so that all locks meet the same ones. It counts the bytes of their
// connections. Between turns it deletes what was left; on somebody's own Redis, where each turn has a prefix of its own, by name.
type held struct {
	servers.Provider
	bytes *atomic.Int64

	mu   sync.Mutex // protects what follows
	up   []*kept
	lock *kept // the lock's servers of the turn under way
}

// kept is a deployment that is up, and what it was started for.
type kept struct {
	servers.Deployment
	spec  servers.Spec
	bytes *atomic.Int64
	admin []*redis.Client // one for each node
	own   bool            // we started it
}

var _ servers.Provider = (*held)(nil)

func hold(p servers.Provider) *held { return &held{Provider: p, bytes: &atomic.Int64{}} }

// Start returns the servers of an earlier turn with the same needs, or starts some.
func (h *held) Start(ctx context.Context, spec servers.Spec) (servers.Deployment, error) {
	own := h.Name() != "url"
	if own {
		spec.Prefix, spec.Derives = "", nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !own { // each turn is a guest of its own
		if err := h.down(); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(h.up, func(k *kept) bool { return k.spec == spec }); i >= 0 {
		return h.use(h.up[i]), nil
	}
	d, err := h.Provider.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	k := &kept{Deployment: d, spec: spec, bytes: h.bytes, own: own}
	for i := range d.Len() {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return d.Dial(ctx, i) }
		k.admin = append(k.admin, redis.NewClient(workloads.ClientOptions(workloads.Access{Dial: dial, Pool: 1}, "127.0.0.1:1")))
	}
	h.up = append(h.up, k)
	return h.use(k), nil
}

// use notes the lock's servers of a turn. The guarded store's are nobody's concern here.
func (h *held) use(k *kept) *kept {
	if k.spec.Name == lockServers {
		h.lock = k
	}
	return k
}

// lockServers is what the harness calls the lock's servers.
const lockServers = "lock"

// current returns the lock's servers of the turn under way; nil before there are any.
func (h *held) current() *kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock
}

// end takes everything down.
func (h *held) end() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down()
}

// down is end, with mu held.
func (h *held) down() error {
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

// Close ends a turn: what it left is deleted, and the servers stay. It does so when nobody is connected: a client that keeps copies of
// keys would be told that all of them are invalid.
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
	}
	return errors.Join(errs...)
}

// adminTimeout bounds what is asked of a server beside the measuring.
const adminTimeout = 10 * time.Second

// Dial counts what goes over the connection.
func (k *kept) Dial(ctx context.Context, node int) (net.Conn, error) {
	c, err := k.Deployment.Dial(ctx, node)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, bytes: k.bytes}, nil
}

// counted is a connection whose bytes are counted, both ways.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// cpu is the processor time that the servers say they have had, of all nodes together; negative when one did not say.
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

// The PINGs that measure the round trip of a turn, each after a pause that leaves the processors as asleep as a hand-over finds them.
const (
	pings     = 20
	pingPause = time.Millisecond
)

// roundTrip is the median time of a PING to the first node; 0 when there is no answer.
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
