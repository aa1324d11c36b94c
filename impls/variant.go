package impls

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
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
	Expect map[string]Expectation
	// Planted is set for planted bugs, which are never offered as locks to adopt.
	Planted *Planted
	// Derives returns the keys that the lock's scripts make without naming them; nil: every request names all its keys.
	Derives Deriver
	// New returns one client's handle.
	New func(Env) (Lock, error)
}

// Deriver knows the keys that a lock's scripts make besides those in KEYS. Its type must be comparable.
type Deriver interface {
	// Derived returns those keys for a call of a script with these keys and arguments.
	Derived(keys, args []string) []string
}

// Source is where a lock comes from.
type Source struct {
	Article string // "003", "Redis documentation", "lockbench"
	Where   string // the listing or heading within it
}

// Topology is the servers that a lock runs on.
type Topology string

// The topologies.
const (
	Standalone  Topology = "standalone"  // one server
	Replicated  Topology = "replicated"  // a primary and a replica
	Independent Topology = "independent" // N independent masters
	Cluster     Topology = "cluster"     // three masters that share the slots
)

// Traits are what a lock can do. They decide which rules and scenarios apply; the conformance kit checks them.
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
	FromAsking   bool // a waiter is granted what is left of the lease of its last asking
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
	Text    string
	Holds   bool
	Command string // the lockbench command that shows it
}

// Command returns the command that runs a lock in a scenario.
func Command(lock, scenario string) string {
	return "lockbench run --lock " + lock + " --scenario " + scenario
}

// Votes reports whether an attempt may be refused because of another one that was not granted: votes split, attempts queue, or a permit is
// counted before it is taken. See history.Header.
func (v Variant) Votes() bool {
	return v.Topology == Independent || v.Traits.FIFO || v.Traits.Permits && v.Traits.MultiCommand
}

// Planted describes a planted bug.
type Planted struct {
	Of     string // the correct lock
	Bug    string // what was changed, in one sentence
	Report string // the public report it follows, e.g. "redis/redis-py#1031"
	// LooseStore reports that the guarded store has the bug: it does not compare fences and write atomically.
	LooseStore bool
}

// Break is a violation of a property by a cause. A planted bug may leave the cause open: "".
type Break struct {
	Property history.Property
	Cause    history.Cause
}

// String returns "property/cause", or the property alone.
func (b Break) String() string {
	return strings.TrimSuffix(string(b.Property)+"/"+string(b.Cause), "/")
}

// Covers reports whether b equals seen, or omits its cause.
func (b Break) Covers(seen Break) bool {
	return b.Property == seen.Property && (b.Cause == "" || b.Cause == seen.Cause)
}

// Expectation is what a scenario must show for a lock. The zero value expects every property to hold.
type Expectation struct {
	Breaks []Break // each must be observed
	May    []Break // each may be observed
	NA     string  // if set, why the scenario does not apply
}

// Safe expects every property to hold.
func Safe() Expectation { return Expectation{} }

// NotApplicable expects nothing, because of why.
func NotApplicable(why string) Expectation { return Expectation{NA: why} }

// Breaks expects each of "property/cause" to be observed.
func Breaks(pairs ...string) Expectation { return Expectation{Breaks: parse(pairs)} }

// Or returns the expectation with "property/cause" pairs that may be observed.
func (e Expectation) Or(pairs ...string) Expectation {
	e.May = slices.Clone(e.May)
	for _, b := range parse(pairs) {
		if !slices.Contains(e.Breaks, b) && !slices.Contains(e.May, b) {
			e.May = append(e.May, b)
		}
	}
	return e
}

// String returns "safe", "n/a: why", or the pairs with the optional ones in parentheses.
func (e Expectation) String() string {
	if e.NA != "" {
		return "n/a: " + e.NA
	}
	words := make([]string, 0, len(e.Breaks)+len(e.May))
	for _, b := range e.Breaks {
		words = append(words, b.String())
	}
	if len(words) == 0 {
		words = append(words, "safe")
	}
	for _, b := range e.May {
		words = append(words, "("+b.String()+")")
	}
	return strings.Join(words, " ")
}

func parse(pairs []string) []Break {
	out := make([]Break, 0, len(pairs))
	for _, p := range pairs {
		property, cause, _ := strings.Cut(p, "/")
		out = append(out, Break{history.Property(property), history.Cause(cause)})
	}
	return out
}

// Persistence is which data a server keeps when it is killed and restarted.
type Persistence string

// The persistence settings.
const (
	PersistNone     Persistence = "none"     // nothing
	PersistEverySec Persistence = "everysec" // append-only file, written out every second
	PersistAlways   Persistence = "always"   // append-only file, written out before every reply
)

// A killed process, unlike a machine that loses power, loses nothing that it has written to the kernel, and Redis writes the append-only file
// before it replies. After Kill both append-only settings therefore keep everything that was acknowledged.
