package locktest

import (
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// New makes one client's handle on the lock that env names. It is called once for each client of each rule.
type New func(env impls.Env) (impls.Lock, error)

// Option changes what Run does. The order of options does not matter.
type Option func(*config)

type config struct {
	kind   history.Kind
	traits impls.Traits
	nodes  int
	lease  time.Duration
	breaks map[string]bool // must be broken
	may    map[string]bool // may be broken
	real   bool
	// noVirtual leaves virtual time out.
	noVirtual bool
	// replicas is how many each node has; only a real one can.
	replicas int
	only     map[string]bool
}

// Can says what the lock can do, and by that which rules apply to it. Without it a lock is one with a lease and nothing else.
func Can(t impls.Traits) Option { return func(c *config) { c.traits = t } }

// Kind says what sort of lock it is; the default is history.Mutex.
func Kind(k history.Kind) Option { return func(c *config) { c.kind = k } }

// Nodes gives the lock n independent masters instead of one.
func Nodes(n int) Option { return func(c *config) { c.nodes = n } }

// Replicas gives each node n replicas. Such a lock runs on redis-server alone: see OnRedisServer.
func Replicas(n int) Option { return func(c *config) { c.replicas = n } }

// Lease sets the lease of every hold in virtual time; the default is DefaultLease.
func Lease(d time.Duration) Option { return func(c *config) { c.lease = d } }

// Breaks names rules that the lock breaks by design. Each must be seen broken.
func Breaks(rules ...string) Option { return func(c *config) { add(c.breaks, rules) } }

// MayBreak names rules that the lock breaks now and then, by a race that no test can force.
func MayBreak(rules ...string) Option { return func(c *config) { add(c.may, rules) } }

// OnRedisServer runs the rules on redis-server from PATH too, in real time. Without one those subtests are skipped, unless the
// environment variable LOCKBENCH_REQUIRE names "process".
func OnRedisServer() Option { return func(c *config) { c.real = true } }

// OnlyReal leaves virtual time out, for a lock that has been through it already.
func OnlyReal() Option { return func(c *config) { c.noVirtual = true } }

// Only runs the named rules alone.
func Only(rules ...string) Option { return func(c *config) { add(c.only, rules) } }

// DefaultLease is the lease in virtual time; on a real server it is RealLease.
const (
	DefaultLease = time.Second
	RealLease    = 400 * time.Millisecond
)

func add(set map[string]bool, names []string) {
	for _, n := range names {
		set[n] = true
	}
}

func configure(options []Option) config {
	c := config{kind: history.Mutex, nodes: 1, lease: DefaultLease,
		breaks: map[string]bool{}, may: map[string]bool{}, only: map[string]bool{}}
	for _, o := range options {
		o(&c)
	}
	return c
}
