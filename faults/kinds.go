package faults

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Target says what a fault affects.
type Target string

// The targets.
const (
	OneClient  Target = "client"      // Spec.Client, or one drawn from the seed
	allClients Target = "all clients" // all of them; none is drawn
	OneNode    Target = "node"        // Spec.Node, or one drawn from the seed
	allNodes   Target = "all nodes"   // Spec.Node, or all of them when it is 0
	aPrimary   Target = "primary"     // Spec.Node, or the first
)

// layer is the part of a system in which a fault happens.
type layer string

// The layers.
const (
	InClient  layer = "client"  // the client's machine or program
	InMessage layer = "message" // a single request or reply
	inNetwork layer = "network" // the links between clients and nodes
	InServer  layer = "server"  // a node and its data
)

// Form is a set of forms of trigger.
type Form uint8

// The forms of trigger; see [Trigger].
const (
	AtStart Form = 1 << iota // no trigger: in force from the start
	AtTime
	AtMoment
	AtRequest
	AtReply

	atEvent = AtTime | AtMoment | AtRequest | AtReply
)

// placing says how the simulator's search places a fault.
type placing string

// The placings.
const (
	NotPlaced placing = ""
	atStep    placing = "at a step" // instead of the delivery of a message
	// drawn before a random schedule begins; an exhaustive search cannot place it
	BeforeSearch placing = "before the run"
)

// Kind describes one kind of fault: what it is, and how it acts. It stands in the file of its
// layer. Nothing outside that names it: who must know what it does asks for its traits.
type Kind struct {
	Name             string
	About            string // one sentence
	Did              string // what it did to the client or node that it hit, for stories
	InSim, OnServers string // what is done in the simulator, and on real servers
	On               Target
	In               layer
	At               Form   // the triggers that it accepts
	Uses             []Uses // the fields of Spec that it uses, besides target and trigger

	instant bool // it is over at once, unless Spec gives a length
	// it must not outlive the run: a stopped server cannot be closed, a blocked link cannot be
	// drained
	mustEnd bool
	Does    history.Does // what it does to what it hits
	Harms   bool         // it harms the server and its other data
	Own     bool         // it would harm a Redis that is not the run's own
	Away    bool         // the other servers and the sentinels miss the node
	Clock   bool         // the servers must be started with clocks that can be set
	Placed  placing
	Not     map[impls.Topology]string // where it is impossible, and why

	do action
}

// Uses is a field of Spec that a fault uses, and whether it must be set.
type Uses struct {
	Field    string // for, by, rate, until
	Required bool
}

var (
	mayFor   = Uses{"for", false}
	mustFor  = Uses{"for", true}
	mayUntil = Uses{"until", false}
	mustBy   = Uses{"by", true}
	mayRate  = Uses{"rate", false}
	mustRate = Uses{"rate", true}
)

// kinds is the vocabulary, in the order of the documentation. It is never modified.
var kinds = slices.Concat(clientKinds, messageKinds, networkKinds, nodeKinds)

// Kinds lists the vocabulary in the order of the documentation.
func Kinds() []Kind { return slices.Clone(kinds) }

// FindKind returns the kind of fault with this name; ok is false if there is none.
func FindKind(name string) (Kind, bool) {
	for i := range kinds {
		if kinds[i].Name == name {
			return kinds[i], true
		}
	}
	return Kind{}, false
}

// Describe fills in what the faults do, by their names, in windows that don't say: those of records
// that others wrote.
func Describe(windows []history.Window) {
	for i := range windows {
		if w := &windows[i]; w.Does == 0 {
			kind, _ := FindKind(w.Fault)
			w.Does = kind.Does
		}
	}
}

// Names lists, in the order of the table, the faults that satisfy is.
func Names(is func(Kind) bool) (names []string) {
	for _, k := range kinds {
		if is(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Refusal returns why a fault of this kind is impossible on a topology, of servers that are a
// user's or the run's own; "" when no limit is known.
func (k Kind) Refusal(guest bool, t impls.Topology) string {
	if k.Own && guest {
		return "it would harm a Redis that is not the run's own; --server process or docker has servers of its own"
	}
	return k.Not[t]
}

// Needs reports whether a fault of this kind must have a field of Spec.
func (k Kind) Needs(field string) bool { return slices.Contains(k.Uses, Uses{field, true}) }

// Promotes reports whether it replaces a primary by its replica.
func (k Kind) Promotes() bool { return k.On == aPrimary }

// NeedsProxy reports whether, on real servers, clients must dial through a proxy for the fault.
func (k Kind) NeedsProxy() bool { return k.In == InMessage || k.In == inNetwork }

// OnNode reports whether the fault is done to nodes.
func (k Kind) OnNode() bool { return k.On == OneNode || k.On == allNodes || k.On == aPrimary }
