package locktest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/patience"
)

// client is one client with its handle.
type client struct {
	lock  impls.Lock
	c     *trial
	name  string
	wires *wires
	env   impls.Env
	redis []*redis.Client
	once  sync.Once

	mu      sync.Mutex // a lock's background reports renewals
	renewed []impls.Renewal
	held    int
	asked   asking       // for its last grant; zero once it has called a release
	granted history.Mode // of that grant
	dead    bool
	ports   []net.Listener // see address
	others  []*client      // the client with locks of other names
	limits  []*patience.Context
	pending *waiting // the last wait that a step began
}

// client opens a handle for a new client and ends the rule if that fails.
func (c *trial) client(name string, changes ...func(*impls.Env)) *client {
	cl, err := c.open(name, changes...)
	if err != nil {
		c.fatalf("client %s: the lock cannot be made: %v", name, err)
	}
	return cl
}

// open makes a client and its handle, in an environment that changes may alter first.
func (c *trial) open(name string, changes ...func(*impls.Env)) (*client, error) {
	cl := c.prepare(name, changes...)
	return cl, cl.fresh()
}

// prepare makes a client without a handle.
func (c *trial) prepare(name string, changes ...func(*impls.Env)) *client {
	cl := &client{c: c, name: name, wires: &wires{c: c, name: name}}
	cl.env = impls.Env{
		Key: c.key, Owner: name, Lease: c.ttl, Poll: c.ttl / 40, Permits: 1, NodeTimeout: c.slack, Clock: impls.SystemClock{},
		Rand: random(name), OnRenew: func(r impls.Renewal) {
			cl.mu.Lock()
			defer cl.mu.Unlock()
			cl.renewed = append(cl.renewed, r)
		}, Dial: cl.dial, Shared: &impls.Shared{},
	}
	for _, n := range c.nodes {
		options := clientOptions(n.addr, cl.dial)
		if c.resends > 0 {
			options.MaxRetries = c.resends
		}
		options.MaxRetryBackoff = c.ttl / 100
		r := redis.NewClient(options)
		cl.redis = append(cl.redis, r)
		cl.env.Nodes, cl.env.Addrs = append(cl.env.Nodes, r), append(cl.env.Addrs, cl.address(n))
	}
	for _, change := range changes {
		change(&cl.env)
	}
	c.mu.Lock()
	c.clients = append(c.clients, cl)
	c.mu.Unlock()
	return cl
}

// fresh gives the client a new object for the same lock.
func (cl *client) fresh() (err error) {
	cl.do("constructor", func() { cl.lock, err = cl.c.make(cl.env) })
	if err != nil { // a refusal of such an environment, after which no grant is to be expected
		cl.c.did(aGrant)
	}
	return err
}

// random returns a source of random numbers that a name determines.
func random(name string) io.Reader { return rand.NewChaCha8(sha256.Sum256([]byte(name))) }

func (cl *client) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	for i, n := range cl.c.nodes {
		if n.addr == addr || i < len(cl.env.Addrs) && cl.env.Addrs[i] == addr {
			return cl.wires.dial(ctx, n)
		}
	}
	return nil, fmt.Errorf("dial %s: no such node", addr)
}

// address returns where the client reaches a node. In real time it is a local port that leads
// through the client's own connections, so that a library which takes only an address meets every
// fault; in virtual time there are no sockets.
func (cl *client) address(n *node) string {
	if cl.c.slack == 0 || cl.c.cfg.Variant {
		return n.addr
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return n.addr
	}
	cl.ports = append(cl.ports, l)
	go cl.forwards(l, n)
	return l.Addr().String()
}

// forwards leads a port to the client's connections, until the listener is closed.
func (cl *client) forwards(l net.Listener, n *node) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := cl.wires.dial(context.Background(), n)
			if err != nil {
				return
			}
			defer out.Close()
			go func() {
				_, _ = io.Copy(out, in)
				_ = out.Close()
			}()
			_, _ = io.Copy(in, out)
		}()
	}
}

// holdsSince records a grant.
func (cl *client) holdsSince(asked asking, mode history.Mode) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.held++
	cl.asked, cl.granted = asked, mode
	cl.c.log.granted(cl.name)
	cl.c.did(aGrant)
}

// leaves records that the client calls a release: from here on nothing is certain of its hold. The
// returned function records that it has returned.
func (cl *client) leaves() (left func()) {
	set := func(held int) {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		cl.held, cl.asked = max(0, cl.held+held), asking{}
	}
	set(0)
	return func() { set(-1) }
}

// close ends the handle and the connections, once.
func (cl *client) close() {
	cl.once.Do(func() {
		cl.shut()
		for _, o := range append(cl.others, cl) {
			o.mu.Lock()
			for _, p := range o.limits {
				p.Cancel()
			}
			o.mu.Unlock()
		}
		for _, r := range cl.redis {
			_ = r.Close()
		}
		for _, l := range cl.ports {
			_ = l.Close()
		}
	})
}

// shut closes the client's locks and leaves its connections open.
func (cl *client) shut() {
	if cl.lock == nil {
		return
	}
	cl.do("Close", func() {
		for _, o := range append(cl.others, cl) {
			_ = o.lock.Close()
		}
	})
}

// dies crashes the client: its connections are cut and its background stops.
func (cl *client) dies() {
	cl.mu.Lock()
	cl.dead = true
	cl.mu.Unlock()
	cl.wires.cutAll()
	cl.close()
}

// callContext returns a context for one call: no lock needs more than ten leases for anything here.
func (cl *client) callContext() *patience.Context {
	p := patience.New(context.Background(), 10*cl.c.lease)
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.limits = append(cl.limits, p)
	return p
}

// keep leaves the context of a successful call open until the client ends: a lock may tie its hold
// to it.
func keep(p *patience.Context, err error) {
	if err == nil {
		p.Keep()
		return
	}
	p.Cancel()
}

// named returns the subject's name for a method that the kit calls.
func (cl *client) named(method string) string {
	if cl.c.cfg.Variant {
		return map[string]string{"TryLock": "Try", "Lock": "Acquire", "Unlock": "Release"}[method]
	}
	switch {
	case method == "TryLock" && !cl.c.cfg.Tries:
		return "Lock"
	case method == "Lock" && !cl.c.cfg.Waits:
		return "TryLock"
	}
	return method
}

// namedFor is named for a method of one mode.
func (cl *client) namedFor(mode history.Mode, method string) string {
	switch cfg := cl.c.cfg; {
	case mode != shared || cl.c.cfg.Variant:
		return cl.named(method)
	case method == "TryLock" && !cfg.ReadersTry, method == "Lock" && cfg.ReadersWait:
		return "RLock"
	case method == "Unlock":
		return "RUnlock"
	}
	return "TryRLock"
}

// try makes one attempt to acquire.
func (cl *client) try(mode history.Mode) (g impls.Grant, err error) {
	p, begin := cl.callContext(), cl.c.asks()
	cl.do(cl.namedFor(mode, "TryLock"), func() { g, err = cl.lock.Try(p, mode) })
	keep(p, err)
	if err == nil {
		cl.holdsSince(begin, mode)
	}
	return g, err
}

// acquire waits for the lock under a context of the rule.
func (cl *client) acquire(ctx context.Context, mode history.Mode) (g impls.Grant, err error) {
	begin := cl.c.asks()
	cl.do(cl.namedFor(mode, "Lock"), func() { g, err = cl.lock.Acquire(ctx, mode) })
	if err != nil {
		return g, err
	}
	// A grant that came after a wait must be alone beside who holds for certain: a client that has
	// released nothing, and whose lease runs.
	c := cl.c
	now := c.asks()
	for _, o := range c.holders(cl) {
		o.mu.Lock()
		asked, granted := o.asked, o.granted
		o.mu.Unlock()
		runs := asked.cleared == now.cleared && !asked.at.IsZero() &&
			(c.cfg.Traits.NoLease || now.at.Sub(asked.at) < min(c.lease, o.env.Lease))
		if c.slack == 0 && o.env.Key == cl.env.Key && o.env.Permits == 1 && runs && (mode != shared || granted != shared) {
			c.worstf("%s.%s succeeded while %s held the lock%s", cl.name, cl.namedFor(mode, "Lock"), o.name, c.keyEvents(cl))
		}
	}
	cl.holdsSince(begin, mode)
	return g, nil
}

// mustHold makes one attempt, which must be granted.
func (cl *client) mustHold(mode history.Mode) impls.Grant {
	g, err := cl.try(mode)
	if err != nil {
		cl.c.fatalf("%s.%s failed (%s): %s%s", cl.name, cl.namedFor(mode, "TryLock"), cl.c.sofar(), cl.outcome(err), cl.c.stillThere())
	}
	return g
}

// stillThere names the keys that exist, for a message that a lock can't be acquired.
func (c *trial) stillThere() string {
	for _, n := range c.nodes {
		if keys := c.keysOf(n); len(keys) > 0 && len(keys) < 5 {
			return fmt.Sprintf("; on the server: %q", keys)
		}
	}
	return ""
}

// mustBeRefused makes one attempt, which must not be granted.
func (cl *client) mustBeRefused(mode history.Mode) {
	when := cl.c.sofar()
	begin, call := time.Now(), cl.namedFor(mode, "TryLock")
	_, err := cl.try(mode)
	if cl.refusal(err) {
		return
	}
	if took := time.Since(begin); err == nil && cl.c.late(took, cl.c.lease/20) {
		cl.c.errorf("%s.%s succeeded, but not at once: after %v (%s)", cl.name, call, took, when)
		return
	}
	if err == nil {
		who := ""
		if all := cl.c.holders(cl); len(all) > 0 {
			names := make([]string, len(all))
			for i, o := range all {
				names[i] = o.name
			}
			who = " while " + strings.Join(names, " and ") + " held the lock"
		}
		cl.c.worstf("%s.%s succeeded%s (%s)%s", cl.name, call, who, when, cl.c.keyEvents(cl))
		return
	}
	cl.c.errorf("%s.%s failed with %q (%s), want a refusal", cl.name, call, err, when)
}

// release ends the client's hold.
func (cl *client) release() (err error) {
	p := cl.callContext()
	defer p.Cancel()
	return cl.releaseIn(p)
}

func (cl *client) releaseIn(ctx context.Context) (err error) {
	defer cl.leaves()()
	cl.do(cl.named("Unlock"), func() { err = cl.lock.Release(ctx) })
	return err
}

// releaseMode ends a hold of one mode if the client has both.
func (cl *client) releaseMode(mode history.Mode) (err error) {
	l, ok := cl.lock.(interface {
		ReleaseMode(ctx context.Context, mode history.Mode) error
	})
	if !ok {
		return cl.release()
	}
	p := cl.callContext()
	defer p.Cancel()
	defer cl.leaves()()
	cl.do(cl.namedFor(mode, "Unlock"), func() { err = l.ReleaseMode(p, mode) })
	return err
}

func (cl *client) mustRelease() {
	if err := cl.release(); err != nil {
		cl.c.errorf("%s.%s failed (%s): %v%s", cl.name, cl.named("Unlock"), cl.c.sofar(), err, cl.c.keyEvents(nil))
	}
}

// until returns the end of the lock's hold as it states it now, or as it last reported it with a
// renewal.
func (cl *client) until() (time.Time, bool) {
	if v, ok := cl.lock.(interface{ Until() (time.Time, bool) }); ok {
		return v.Until()
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if n := len(cl.renewed); n > 0 && cl.renewed[n-1].Err == nil && !cl.renewed[n-1].ValidUntil.Equal(impls.UntilLost) {
		return cl.renewed[n-1].ValidUntil, true
	}
	return time.Time{}, false
}

func (cl *client) extend() (g impls.Grant, err error) {
	p := cl.callContext()
	cl.do("Extend", func() { g, err = cl.lock.Extend(p) })
	keep(p, err)
	return g, err
}
