package locktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// Config is what a lock is made of: the connection, the key, the lease, the poll interval and the client's name. A lock that brings its own
// Redis client dials with Dial an address of Addrs.
type Config = subject.Config

// Option changes what Run or Explore does. The order of options does not matter.
type Option func(*config)

type config struct {
	traits   impls.Traits
	kind     history.Kind
	topology impls.Topology
	newLock  func(impls.Env) (impls.Lock, error) // of a variant; nil: the factory's
	variant  bool
	cluster  bool // it is to run on a cluster, too
	waits    bool // the subject has a Lock that waits
	tries    bool // the subject has a TryLock

	nodes    int
	replicas int // of each node; only a real one has any
	lease    time.Duration
	real     time.Duration // the lease in real time
	kept     func(time.Duration) time.Duration

	breaks map[string]bool // must be broken
	may    map[string]bool // may be broken
	only   map[string]bool

	onRedis   bool
	noVirtual bool
	wrong     []string // options that make no sense

	explore exploration
}

// promises are what the methods of a lock do not show.
var promises = map[string]func(*config){
	"reentrant":     func(c *config) { c.traits.Reentrant = true },
	"renews":        func(c *config) { c.traits.SelfRenewing = true },
	"fifo":          func(c *config) { c.traits.FIFO = true },
	"wakes":         func(c *config) { c.traits.Wakeups = true },
	"writers-first": func(c *config) { c.traits.WritersFirst = true },
	"repeatable":    func(c *config) { c.traits.Repeatable = true },
	"no-lease":      func(c *config) { c.traits.NoLease = true },
	"cluster":       func(c *config) { c.cluster = true },
}

// Promises says what the lock promises and its methods do not show: "reentrant" (the holder may lock again), "renews" (it extends its
// lease by itself), "wakes" (a release wakes waiters, who do not only poll), "fifo" (waiters get in in order of arrival),
// "writers-first" (a waiting writer keeps new readers out), "repeatable" (an acquire that the Redis client sends twice grants as one does),
// "no-lease" (a hold never ends by itself), "cluster" (all its keys are in one hash slot). Run checks what is promised; that a lock renews it sees without being told.
func Promises(words ...string) Option {
	return func(c *config) {
		for _, w := range words {
			set, ok := promises[w]
			if !ok {
				c.wrong = append(c.wrong, fmt.Sprintf("Promises(%q): want %s", w, strings.Join(slices.Sorted(maps.Keys(promises)), ", ")))
				continue
			}
			set(c)
		}
	}
}

// Variant runs a lock of lockbench's contract in place of a factory's, which is nil then.
func Variant(v impls.Variant) Option {
	return func(c *config) {
		c.traits, c.kind, c.topology, c.newLock = v.Traits, v.Kind, v.Topology, v.New
		c.variant, c.waits, c.tries = true, true, true
		if v.Topology == impls.Replicated {
			c.replicas = 1
		}
	}
}

// Nodes returns the lock n independent masters instead of one.
func Nodes(n int) Option { return func(c *config) { c.nodes = n } }

// TTL sets the lease of every hold in virtual time; the default is a second.
func TTL(d time.Duration) Option { return func(c *config) { c.lease = d } }

// RealLease sets the lease of every hold in real time; the default is 400 ms. A lock that counts in seconds needs one of whole seconds.
func RealLease(d time.Duration) Option { return func(c *config) { c.real = d } }

// ServerLease says how long the server keeps a hold of a lock that pads or rounds the lease which it is asked for: the rules then expect its
// end there.
func ServerLease(kept func(asked time.Duration) time.Duration) Option {
	return func(c *config) { c.kept = kept }
}

// Breaks names rules that the lock breaks by design. Each must be seen broken.
func Breaks(rules ...string) Option { return func(c *config) { add(c.breaks, rules) } }

// MayBreak names rules that the lock breaks now and then, by a race that no test can force.
func MayBreak(rules ...string) Option { return func(c *config) { add(c.may, rules) } }

// Only runs the named rules alone.
func Only(rules ...string) Option { return func(c *config) { add(c.only, rules) } }

// OnRedisServer runs the rules on redis-server from PATH too, in real time. Without one those subtests are skipped, unless the
// environment variable LOCKBENCH_REQUIRE names "process".
func OnRedisServer() Option { return func(c *config) { c.onRedis = true } }

// OnlyReal leaves virtual time out: for a lock that has been through it already, and for one whose Redis client can use sockets and nothing
// else. It implies OnRedisServer.
func OnlyReal() Option { return func(c *config) { c.onRedis, c.noVirtual = true, true } }

// independentNodes is how many nodes a variant of several has unless Nodes says otherwise.
const independentNodes = 5

// The leases unless an option says otherwise.
const (
	virtualLease = time.Second
	realLease    = 400 * time.Millisecond
)

func add(set map[string]bool, names []string) {
	for _, n := range names {
		set[n] = true
	}
}

func configure(options []Option) config {
	c := config{kind: history.Mutex, topology: impls.Standalone, lease: virtualLease, real: realLease,
		kept:   func(d time.Duration) time.Duration { return d },
		breaks: map[string]bool{}, may: map[string]bool{}, only: map[string]bool{}}
	for _, o := range options {
		o(&c)
	}
	switch {
	case c.nodes > 1:
		c.topology = impls.Independent
	case c.nodes == 0 && c.topology == impls.Independent:
		c.nodes = independentNodes
	}
	c.nodes = max(c.nodes, 1)
	return c
}
