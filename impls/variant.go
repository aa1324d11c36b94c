package impls

import (
	"cmp"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Variant is one entry of the catalogue.
type Variant struct {
	Name     string
	Summary  string // one sentence: how it works
	Kind     history.Kind
	Source   Source
	Topology Topology
	Traits   Traits
	Claims   []Claim
	Scripts  []*Script
	// Expect is the expected result by scenario name. The lock is not run in other scenarios.
	Expect map[string]verdicts.Expectation
	// Planted is set for planted bugs, which are never offered as locks to adopt.
	Planted *Planted
	// Derives returns the keys that the lock's scripts make without naming them; nil: every request
	// names all its keys.
	Derives Deriver
	// Quorum is the number of independent nodes that must grant the lock; 0 means a majority.
	Quorum int
	// Drift is for how much longer than its lease a server may keep a hold.
	Drift time.Duration
	// New returns one client's handle.
	New func(Env) (Lock, error)
}

// Deriver knows the keys that a lock's scripts make besides those in KEYS. Its type must be
// comparable.
type Deriver interface {
	// Derived returns those keys for a call of a script with these keys and arguments.
	Derived(keys, args []string) []string
}

// Source is where a lock comes from.
type Source struct {
	Article string // "Redis series 13", "Redis documentation", "lockbench"
	Where   string // the listing or heading within it
}

// Topology is the servers that a lock runs on.
type Topology string

// The topologies.
const (
	Standalone  Topology = "standalone"  // one server
	Replicated  Topology = "replicated"  // a primary and its replicas: one, unless a scenario has more nodes
	Independent Topology = "independent" // N independent masters
	Cluster     Topology = "cluster"     // three masters that share the slots
	Sentinel    Topology = "sentinel"    // a primary, two replicas, and three sentinels that promote one
)

// Topologies returns all topologies.
func Topologies() []Topology {
	return []Topology{Standalone, Replicated, Independent, Cluster, Sentinel}
}

// Primaries returns how many of a topology's nodes, counted from the first, are no replicas. Each
// of the others is the replica of one of these in turn. With sentinels, a replica has an address of
// its own, and counts.
func (t Topology) Primaries(nodes int) int {
	switch t {
	case Replicated:
		return 1
	case Cluster:
		return min(nodes, ClusterMasters)
	}
	return nodes
}

// ClusterMasters is the number of masters of a cluster.
const ClusterMasters = 3

// Address returns the number under which clients dial a node: replicated nodes share one, which
// leads to the primary.
func (t Topology) Address(node int) int {
	if t == Replicated {
		return 0
	}
	return node
}

// Traits are what a lock can do. They decide which rules and scenarios apply; the conformance kit
// checks them.
type Traits struct {
	NoLease      bool // the server never ends a hold by itself
	UniqueToken  bool // every grant has its own token
	Validity     bool // grants carry ValidUntil
	LooksTwice   bool // reads the clock again after the reply, and never returns a grant after its ValidUntil
	Extends      bool // Extend is supported
	Fenced       bool // grants carry a fence
	Reentrant    bool // the holder may acquire again
	Shared       bool // shared mode is supported
	Permits      bool // admits Env.Permits holders
	SelfRenewing bool // restarts its lease in the background
	NotifiesLoss bool // closes Grant.Lost
	Wakeups      bool // waiters are notified, instead of only polling
	FIFO         bool // grants in order of arrival
	FromAsking   bool // a waiter is granted the rest of the lease that began with its last request
	NeedsReplica bool // grants only what a replica has confirmed
	WritersFirst bool // a waiting writer keeps new readers out
	Repeatable   bool // an acquire that reaches the server twice is granted twice, so a client may resend it
	ClientClock  bool // decides by the client's wall clock
	MultiCommand bool // one acquire needs more than one command
	NilGrants    bool // the acquire script replies nil when it grants, and something else when it refuses
	LocalOwner   bool // its owner ids are unique only within one process
	Multiplexes  bool // its goroutines share one connection, each with one command at a time
	OwnRandom    bool // its tokens are binary and come from the process's random source instead of Env.Rand
}

// Claim is a statement of the source about a lock, and whether measurements confirm it.
type Claim struct {
	Text    string `json:"text"`
	Holds   bool   `json:"holds"`
	Command string `json:"command,omitempty"` // the lockbench command that shows it
}

// Command returns the command that runs a lock in a scenario.
func Command(lock, scenario string) string {
	return "lockbench run --lock " + lock + " --scenario " + scenario
}

// Votes reports whether an attempt may be refused because of another one that was not granted:
// votes split, attempts queue, or a permit is counted before it is taken. See history.Header.
func (v Variant) Votes() bool {
	return v.Topology == Independent || v.Traits.FIFO || v.Traits.Permits && v.Traits.MultiCommand
}

// Header returns the header of a history of the lock on so many nodes of a topology, with what its
// traits say and one permit.
func (v Variant) Header(lease int64, on Topology, nodes int) history.Header {
	if v.Traits.NoLease {
		lease = 0
	}
	quorum := 0
	if v.Topology == Independent && on != Independent {
		v.Topology = on // one node decides
	}
	if v.Topology == Independent {
		quorum = cmp.Or(v.Quorum, nodes/2+1)
	}
	return history.Header{Lock: v.Name, Kind: v.Kind, Lease: lease, Permits: 1, Votes: v.Votes(), Wakeups: v.Traits.Wakeups, FIFO: v.Traits.FIFO,
		Drift: min(int64(v.Drift), lease), LeaseFromAsking: v.Traits.FromAsking, NeedsReplica: v.Traits.NeedsReplica, Quorum: quorum, Renews: v.Traits.SelfRenewing}
}

// Planted describes a planted bug.
type Planted struct {
	Of     string `json:"of"`     // the correct lock
	Bug    string `json:"bug"`    // what was changed, in one sentence
	Report string `json:"report"` // the public report it follows, e.g. "redis/redis-py#1031"
	// LooseStore reports that the guarded store has the bug: it does not compare fences and write
	// atomically.
	LooseStore bool `json:"-"`
}

// Persistence is the data that a server keeps when it is killed and restarted.
type Persistence string

// The persistence settings.
const (
	PersistNone     Persistence = "none"     // nothing
	PersistEverySec Persistence = "everysec" // append-only file, written out every second
	PersistAlways   Persistence = "always"   // append-only file, written out before every reply
)

// Persistences returns all persistence settings.
func Persistences() []Persistence { return []Persistence{PersistNone, PersistEverySec, PersistAlways} }

// A killed process, unlike a machine that loses power, loses nothing that it has written to the
// kernel, and Redis writes the append-only file before it replies. After Kill both append-only
// settings therefore keep everything that was acknowledged.
