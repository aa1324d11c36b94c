package locktest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

const (
	exclusive = history.Exclusive
	shared    = history.Shared
)

// C is the world of one rule: nodes, clients, and what was found wrong.
type C struct {
	newLock New
	cfg     config
	nodes   []*node
	lease   time.Duration
	slack   time.Duration // by how much an instant may be missed; 0 in virtual time
	key     string

	mu       sync.Mutex // a rule may use several goroutines
	problems []string
	clients  []*client
}

// poolLinger is how long a goroutine of the Redis client's pool sleeps on after the pool is closed, when nodes could not be
// reached. A bubble may not end before it.
const poolLinger = 2 * time.Second

// giveUp ends a rule that cannot go on.
type giveUp struct{}

// newC makes a world whose lock is named after the test. The dot at the end keeps one test's keys from looking like another's.
func newC(test string, newLock New, cfg config, nodes []*node) *C {
	return &C{newLock: newLock, cfg: cfg, nodes: nodes, lease: cfg.lease, key: strings.ReplaceAll(test, "/", ":") + "."}
}

// run checks a rule and gives what was found wrong.
func (c *C) run(r Rule) []string {
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(giveUp{}) {
				panic(p)
			}
		}()
		r.check(c)
	}()
	for _, cl := range c.clients {
		cl.close()
	}
	if c.slack == 0 {
		time.Sleep(poolLinger) // costs nothing in virtual time
	}
	return c.problems
}

func (c *C) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *C) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	panic(giveUp{})
}

// client is one client with its handle.
type client struct {
	impls.Lock
	c       *C
	name    string
	wires   *wires
	redis   []*redis.Client
	mu      sync.Mutex // a lock's background tells of renewals
	renewed []impls.Renewal
	once    sync.Once
}

// client opens a handle for a client of its own, and gives the rule up when it cannot be had.
func (c *C) client(name string, changes ...func(*impls.Env)) *client {
	cl, err := c.open(name, changes...)
	if err != nil {
		c.fatalf("client %s: the lock cannot be made: %v", name, err)
	}
	return cl
}

// open makes a client and its handle, in an environment that may be changed first.
func (c *C) open(name string, changes ...func(*impls.Env)) (*client, error) {
	return c.openRetrying(name, -1, changes...)
}

// openRetrying is open for a client whose Redis client sends a request again by itself, up to so many times.
func (c *C) openRetrying(name string, retries int, changes ...func(*impls.Env)) (*client, error) {
	cl := &client{c: c, name: name, wires: &wires{}}
	env := impls.Env{
		Key: c.key, Owner: name, Lease: c.lease, Poll: c.lease / 40, Permits: 1, NodeTimeout: c.slack, Clock: impls.SystemClock{},
		Rand: rand.NewChaCha8(sha256.Sum256([]byte(name))), OnRenew: cl.onRenew, Dial: cl.dial, Shared: &impls.Shared{},
	}
	for _, n := range c.nodes {
		options := clientOptions(n.addr, cl.dial)
		options.MaxRetries = retries
		r := redis.NewClient(options)
		cl.redis = append(cl.redis, r)
		env.Nodes, env.Addrs = append(env.Nodes, r), append(env.Addrs, n.addr)
	}
	for _, change := range changes {
		change(&env)
	}
	c.mu.Lock()
	c.clients = append(c.clients, cl)
	c.mu.Unlock()
	var err error
	cl.Lock, err = c.newLock(env)
	return cl, err
}

func (cl *client) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	for _, n := range cl.c.nodes {
		if n.addr == addr {
			return cl.wires.dial(ctx, n)
		}
	}
	return nil, fmt.Errorf("dial %s: no such node", addr)
}

func (cl *client) onRenew(r impls.Renewal) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.renewed = append(cl.renewed, r)
}

// renewals counts the renewals that succeeded since the last call.
func (cl *client) renewals() (n int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, r := range cl.renewed {
		if r.Err == nil {
			n++
		}
	}
	cl.renewed = nil
	return n
}

// close ends the handle and the connections, once.
func (cl *client) close() {
	cl.once.Do(func() {
		if cl.Lock != nil {
			_ = cl.Lock.Close()
		}
		for _, r := range cl.redis {
			_ = r.Close()
		}
	})
}

// dies is the end of a client: its connections are cut and what it runs in the background goes with it.
func (cl *client) dies() {
	cl.wires.die()
	cl.close()
}

// ctx bounds a rule's wait: no lock may need ten leases for anything here.
func (c *C) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*c.lease)
}

// try asks once.
func (cl *client) try(mode history.Mode) (impls.Grant, error) {
	ctx, cancel := cl.c.ctx()
	defer cancel()
	return cl.Try(ctx, mode)
}

// mustHold asks once and gives the rule up when it is not granted.
func (cl *client) mustHold(when string, mode history.Mode) impls.Grant {
	g, err := cl.try(mode)
	if err != nil {
		cl.c.fatalf("%s: client %s is not granted the lock: %v", when, cl.name, err)
	}
	return g
}

// mustBeRefused asks once and must hear ErrBusy.
func (cl *client) mustBeRefused(when string, mode history.Mode) {
	if _, err := cl.try(mode); !errors.Is(err, impls.ErrBusy) {
		cl.c.errorf("%s: client %s asks and hears %s, want busy", when, cl.name, say(err))
	}
}

// release ends the client's hold.
func (cl *client) release() error {
	ctx, cancel := cl.c.ctx()
	defer cancel()
	return cl.Release(ctx)
}

func (cl *client) mustRelease(when string) {
	if err := cl.release(); err != nil {
		cl.c.errorf("%s: client %s releases and hears: %v", when, cl.name, err)
	}
}

func (cl *client) extend() (impls.Grant, error) {
	ctx, cancel := cl.c.ctx()
	defer cancel()
	return cl.Extend(ctx)
}

// waiting is an acquire under way.
type waiting struct {
	done   chan struct{}
	grant  impls.Grant
	err    error
	at     time.Time
	cancel context.CancelFunc
}

// waits acquires in the background.
func (cl *client) waits(mode history.Mode) *waiting {
	ctx, cancel := cl.c.ctx()
	w := &waiting{done: make(chan struct{}), cancel: cancel}
	go func() {
		defer cancel()
		w.grant, w.err = cl.Acquire(ctx, mode)
		w.at = time.Now()
		close(w.done)
	}()
	return w
}

// result waits for the acquire to end.
func (w *waiting) result() error {
	<-w.done
	return w.err
}

// over tells whether the acquire has ended.
func (w *waiting) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// sleep lets time pass, a little more than asked for in real time.
func (c *C) sleep(d time.Duration) { time.Sleep(d) }

// late tells whether something took longer than it may.
func (c *C) late(took, limit time.Duration) bool { return took > limit+c.slack }

// deleteKeys deletes every key of the rule's lock on every node, as an operator or an eviction does.
func (c *C) deleteKeys() {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			n.admin.Del(context.Background(), k)
		}
	}
}

// keysOf lists the keys of the rule's lock on a node: those whose name has the lock's in it.
func (c *C) keysOf(n *node) []string {
	var out []string
	for _, k := range n.admin.Keys(context.Background(), "*").Val() {
		if c.mine(k) {
			out = append(out, k)
		}
	}
	return out
}

// mine tells whether a key or a channel is one of the rule's lock.
func (c *C) mine(name string) bool {
	return strings.Contains(strings.NewReplacer("{", "", "}", "").Replace(name), c.key)
}

func say(err error) string {
	if err == nil {
		return "yes"
	}
	return err.Error()
}

// down lets nothing through between the client and some nodes while f runs.
func (cl *client) down(nodes []*node, f func()) {
	cl.wires.unreachable(nodes)
	defer cl.wires.unreachable(nil)
	f()
}
