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

// Config describes the lock to make: connection, key, lease, poll interval and the client's name. A
// lock that brings its own Redis client uses Dial with an address of Addrs.
type Config = subject.Config

// Option configures Run or Explore. The order of options does not matter.
type Option func(*config)

type config struct {
	seen
	kind     history.Kind
	topology impls.Topology
	newLock  func(impls.Env) (impls.Lock, error) // of a variant; nil: use the factory
	cluster  bool                                // also run on a cluster

	nodes    int
	replicas int // per node; real nodes only
	lease    time.Duration
	real     time.Duration // the lease in real time
	kept     func(time.Duration) time.Duration

	breaks []string // rules that must be broken
	may    []string // that may be broken
	only   []string // nil: all

	onRedis   bool
	noVirtual bool
	wrong     []string // invalid options

	explore struct { // what only Explore uses
		clients   int
		workload  string
		faults    []string
		maxFaults int
		schedules int
		replay    string
	}
}

// seen is what a lock shows by its methods and when it is used, besides what is promised of it.
type seen struct {
	Traits      impls.Traits
	Variant     bool // it is a lock of package impls, and returns the errors of that
	Waits       bool // it has a Lock that waits
	Tries       bool // it has a TryLock
	Closes      bool // it has a Close
	ReadersWait bool // it has an RLock
	ReadersTry  bool // it has a TryRLock
}

// promises are properties that the methods of a lock don't show.
var promises = map[string]func(*config){
	"reentrant":     func(c *config) { c.Traits.Reentrant = true },
	"renews":        func(c *config) { c.Traits.SelfRenewing = true },
	"fifo":          func(c *config) { c.Traits.FIFO = true },
	"wakes":         func(c *config) { c.Traits.Wakeups = true },
	"writers-first": func(c *config) { c.Traits.WritersFirst = true },
	"repeatable":    func(c *config) { c.Traits.Repeatable = true },
	"no-lease":      func(c *config) { c.Traits.NoLease = true },
	"cluster":       func(c *config) { c.cluster = true },
	"permits":       func(c *config) { c.kind, c.Traits.Permits = history.Semaphore, true },
}

// Promises states properties that the methods of the lock don't show: "reentrant" (the holder may
// lock again), "renews" (it extends its lease by itself), "wakes" (a release wakes waiters; they
// don't only poll), "fifo" (waiters are granted the lock in order of arrival), "writers-first" (a
// waiting writer keeps new readers out), "repeatable" (an acquire that the Redis client sends twice
// grants once), "no-lease" (a hold never ends by itself), "cluster" (all keys are in one hash
// slot), "permits" (it is a semaphore of Config.Permits; most rules give it one). Run checks each
// promise; it detects renewal without one.
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

// Variant runs a lock of package impls instead of a factory's; the factory must then be nil.
func Variant(v impls.Variant) Option {
	return func(c *config) {
		c.Traits, c.kind, c.topology, c.newLock = v.Traits, v.Kind, v.Topology, v.New
		c.Variant, c.Waits, c.Tries, c.Closes = true, true, true, true
		if v.Topology == impls.Replicated {
			c.replicas = 1
		}
	}
}

// Nodes gives the lock n independent masters instead of one.
func Nodes(n int) Option { return func(c *config) { c.nodes = n } }

// TTL sets the lease of every hold in virtual time; the default is one second.
func TTL(d time.Duration) Option { return func(c *config) { c.lease = d } }

// RealLease sets the lease of every hold in real time; the default is 400 ms. A lock that counts in
// seconds needs whole seconds.
func RealLease(d time.Duration) Option { return func(c *config) { c.real = d } }

// ServerLease gives the longest lease that the server keeps for a lock that pads, rounds or varies
// the lease requested, or renews it a few times only: the rules then expect a hold to end by that,
// and no sooner than requested.
func ServerLease(kept func(asked time.Duration) time.Duration) Option {
	return func(c *config) { c.kept = kept }
}

// Breaks names rules that the lock breaks by design. Run fails if one of them holds.
func Breaks(rules ...string) Option { return func(c *config) { c.breaks = append(c.breaks, rules...) } }

// MayBreak names rules that the lock breaks now and then, by a race that no test can force.
func MayBreak(rules ...string) Option { return func(c *config) { c.may = append(c.may, rules...) } }

// Only runs no other rules than those named.
func Only(rules ...string) Option { return func(c *config) { c.only = append(c.only, rules...) } }

// OnRedisServer also runs the rules on redis-server from PATH, in real time. Without a redis-server
// those subtests are skipped, unless the environment variable LOCKBENCH_REQUIRE names "process".
func OnRedisServer() Option { return func(c *config) { c.onRedis = true } }

// OnlyReal skips virtual time: for a lock already tested there, or one whose Redis client needs
// real sockets. It implies OnRedisServer.
func OnlyReal() Option { return func(c *config) { c.onRedis, c.noVirtual = true, true } }

// independentNodes is the default number of nodes for a variant with several.
const independentNodes = 5

// Default leases.
const (
	virtualLease = time.Second
	realLease    = 400 * time.Millisecond
)

// least returns the shortest time that the server keeps a hold for a lease requested.
func (cfg config) least(asked time.Duration) time.Duration { return min(asked, cfg.kept(asked)) }

func configure(options []Option) config {
	c := config{kind: history.Mutex, topology: impls.Standalone, lease: virtualLease, real: realLease,
		kept: func(d time.Duration) time.Duration { return d }}
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
