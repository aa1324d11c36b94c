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
	// Expect says, by scenario name, what must come out. A scenario that is missing is not expected to be run; the
	// catalogue's tests see to it that none is.
	Expect map[string]Expectation
	// Planted is set for mutants, which are never offered as locks to adopt.
	Planted *Planted
	// Derives knows the keys that the variant's scripts make and do not name; nil: every request names all its keys.
	Derives Deriver
	// New makes one client's handle.
	New func(Env) (Lock, error)
}

// Deriver knows which keys a lock's scripts make besides those that it names when it calls them. Its type must be comparable.
type Deriver interface {
	// Derived returns them for a call of a script with these keys and arguments.
	Derived(keys, args []string) []string
}

// Source says where a variant comes from.
type Source struct {
	Article string // "003", "Redis documentation", "lockbench"
	Where   string // the listing or heading within it
}

// Topology is what a variant runs on.
type Topology string

// The topologies.
const (
	Standalone  Topology = "standalone"  // one server
	Replicated  Topology = "replicated"  // a primary and a replica
	Independent Topology = "independent" // N masters that know nothing of each other
	Cluster     Topology = "cluster"     // three masters that share the slots
)

// Traits are what a variant can do. They decide which rules and scenarios apply to it; they are claims, and the
// conformance kit checks them.
type Traits struct {
	NoLease      bool // the server never ends a hold by itself
	UniqueToken  bool // every grant has a token of its own
	Validity     bool // grants carry ValidUntil
	LooksTwice   bool // reads the clock again when the reply is there, and gives no grant that is over by its own ValidUntil
	Extends      bool // Extend is supported
	Fenced       bool // grants carry a fence
	Reentrant    bool // the holder may acquire again
	Shared       bool // shared mode is supported
	Permits      bool // admits Env.Permits holders
	SelfRenewing bool // restarts its lease in the background
	NotifiesLoss bool // closes Grant.Lost
	Wakeups      bool // waiters are woken, not only polling
	FIFO         bool // grants in order of arrival
	FromAsking   bool // a waiter is granted what is left of the lease of its last asking
	WritersFirst bool // a waiting writer keeps new readers out
	Repeatable   bool // an acquire that reaches the server twice grants twice, so that a client may send it again
	ClientClock  bool // decides by the client's wall clock
	MultiCommand bool // one acquire needs more than one command
	NilGrants    bool // the script of an acquire answers nil when it grants, and something else when it refuses
	LocalOwner   bool // identifies owners in a way that is unique only inside one process
	Multiplexes  bool // its goroutines share one connection, over which each sends one command at a time
	OwnRandom    bool // draws its tokens, which are no text, from the process's random source and not from Env.Rand
}

// Claim is what the source says of a variant, in our words, and whether the measurements bear it out.
type Claim struct {
	Text    string
	Holds   bool
	Command string // the lockbench command that shows it
}

// Votes reports whether an attempt of the variant may be refused because of another's that was not granted: the votes of several nodes
// split, attempts queue in order of arrival, or one of several permits is counted before it is taken. See history.Header.
func (v Variant) Votes() bool {
	return v.Topology == Independent || v.Traits.FIFO || v.Traits.Permits && v.Traits.MultiCommand
}

// Planted describes a mutant.
type Planted struct {
	Of     string // the correct variant it was made from
	Bug    string // what was changed, in one sentence
	Report string // the public report it follows, e.g. "redis/redis-py#1031"
	// LooseStore says that it is the guarded store that has the bug: it compares fences in a step of its own.
	LooseStore bool
}

// Break is one way in which a property can break. That of a planted bug may leave its cause open: "".
type Break struct {
	Property history.Property
	Cause    history.Cause
}

// String returns "property/cause", or the property alone.
func (b Break) String() string {
	return strings.TrimSuffix(string(b.Property)+"/"+string(b.Cause), "/")
}

// Covers reports whether b is what was seen, or leaves open what that says more.
func (b Break) Covers(seen Break) bool {
	return b.Property == seen.Property && (b.Cause == "" || b.Cause == seen.Cause)
}

// Expectation is what a scenario must show for a variant. The zero value expects every property to hold.
type Expectation struct {
	Breaks []Break // each must be observed
	May    []Break // each may be observed as well
	NA     string  // when set, the scenario does not apply, and this is why
}

// Safe expects every property to hold.
func Safe() Expectation { return Expectation{} }

// NotApplicable says why a scenario does not apply.
func NotApplicable(why string) Expectation { return Expectation{NA: why} }

// Breaks expects each of "property/cause" to be observed.
func Breaks(pairs ...string) Expectation { return Expectation{Breaks: parse(pairs)} }

// Or adds "property/cause" pairs that may be observed as well.
func (e Expectation) Or(pairs ...string) Expectation {
	e.May = slices.Clone(e.May)
	for _, b := range parse(pairs) {
		if !slices.Contains(e.Breaks, b) && !slices.Contains(e.May, b) {
			e.May = append(e.May, b)
		}
	}
	return e
}

// String is "safe", "n/a: why", or the pairs with the optional ones in parentheses.
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
