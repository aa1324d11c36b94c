package faults

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
)

// MaxNodes is the most nodes of a plan: the highest number that a fault may name where the topology
// is the lock's own.
const MaxNodes = 9

// Setting limits what the faults of a plan can happen to.
type Setting struct {
	Clients, Nodes int // the highest numbers that a fault may name
	Lease          time.Duration
	Topology       impls.Topology // "" when it is not known
}

// Problems records an error at a path below a fault, such as "when.nth"; "" is the fault itself.
type Problems func(path, format string, args ...any)

// Validate reports values of a fault that are unknown, out of range, or contradict each other or
// the setting.
func (f Spec) Validate(s Setting, bad Problems) {
	kind, ok := FindKind(f.Fault)
	if !ok {
		oneOf(bad, "fault", f.Fault, Names(func(Kind) bool { return true }))
		return
	}
	between(bad, "client", f.Client, s.Clients)
	between(bad, "node", f.Node, s.Nodes)
	if f.Client != 0 && kind.On != OneClient && !f.When.OfClient() {
		bad("client", "%s does not act on one client", f.Fault)
	}
	if f.Node != 0 && !kind.OnNode() {
		bad("node", "%s does not act on a node", f.Fault)
	}
	if f.Times < 0 {
		bad("times", "must not be negative")
	}
	if why := kind.Refusal(false, s.Topology); why != "" && s.Topology != "" {
		bad("fault", "%s on topology %s: %s", f.Fault, s.Topology, why)
	}
	if masters := impls.Cluster.Primaries(s.Nodes); s.Topology == impls.Cluster {
		// A master is replaced by its replica if it has one, and is not without.
		switch {
		case kind.Promotes() && s.Nodes == masters:
			bad("fault", "failover on topology cluster: %s; with nodes: %d each master has one", notPair, 2*masters)
		case kind.Promotes() && f.Node > masters:
			bad("node", "is a replica: name the master that it replaces")
		case kind.Away && s.Nodes > masters:
			bad("fault", "%s on a cluster with replicas: a replica would replace the node; that is failover", f.Fault)
		}
	}
	validateUses(f, kind, s, bad)
	validateTrigger(f.When, kind, s, func(path, format string, args ...any) {
		bad(strings.TrimSuffix("when."+path, "."), format, args...)
	})
	// counts of events that happen once
	if f.When.Nth != 0 && f.When.Moment+f.When.Request+f.When.Reply == "" {
		bad("when.nth", "there is no moment, request or reply to count")
	}
	if f.Times > 1 && kind.Promotes() {
		bad("times", "a pair fails over once: the old primary does not return")
	}
	if f.Times > 1 && f.When == (Trigger{}) {
		bad("times", "%s acts from the start, which happens once", f.Fault)
	}
}

// oneOf reports a word that is not known.
func oneOf(bad Problems, path, word string, known []string) {
	if !slices.Contains(known, word) {
		bad(path, "%s", foreign.Unknown(path[strings.LastIndexByte(path, '.')+1:], word, known))
	}
}

func between(bad Problems, path string, n, high int) {
	if n < 0 || n > high {
		bad(path, "must be between 0 and %d", high)
	}
}

func notNegative(bad Problems, path string, span Span, s Setting) {
	if span.Of(s.Lease) < 0 {
		bad(path, "must not be negative")
	}
}

// validateUses checks that the fault uses the fields that are set, and that required fields are
// set.
func validateUses(f Spec, kind Kind, s Setting, bad Problems) {
	for _, field := range []struct {
		name string
		set  bool
	}{{"for", f.For != (Span{})}, {"by", f.By != (Span{})}, {"rate", f.Rate != 0}, {"until", f.Until != ""}} {
		i := slices.IndexFunc(kind.Uses, func(u Uses) bool { return u.Field == field.name })
		switch {
		case field.set && i < 0:
			bad(field.name, "%s does not use it", f.Fault)
		case !field.set && i >= 0 && kind.Uses[i].Required:
			bad(field.name, "%s needs it", f.Fault)
		}
	}
	notNegative(bad, "for", f.For, s)
	if kind.In == inNetwork {
		notNegative(bad, "by", f.By, s)
	}
	if f.Rate < 0 {
		bad("rate", "must not be negative")
	}
	if kind.Clock && f.Rate != 0 && (f.Rate < slowestClock || f.Rate > fastestClock) {
		bad("rate", "must be between %v and %v", slowestClock, fastestClock)
	}
	if f.Until != "" {
		oneOf(bad, "until", f.Until, []string{OtherEntered})
	}
	if f.Until == OtherEntered && s.Clients == 1 {
		bad("until", "there is no other client")
	}
}

func validateTrigger(t Trigger, kind Kind, s Setting, bad Problems) {
	n := 0
	for _, set := range []bool{t.Moment != "", t.Request != "", t.Reply != "", t.After != (Span{}), t.Within != (Span{})} {
		if set {
			n++
		}
	}
	form := t.Form()
	switch {
	case n > 1:
		bad("", "want exactly one of moment, request, reply, after and within")
	case kind.At&form != 0:
	case kind.At == AtRequest:
		bad("", "%s needs request: the request that is lost or held", kind.Name)
	case kind.At == AtReply:
		bad("", "%s needs reply: the reply that is lost or held", kind.Name)
	case n == 0:
		bad("", "%s needs one of moment, request, reply, after and within", kind.Name)
	case kind.At == AtStart:
		bad("", "%s can only act from the start", kind.Name)
	default:
		bad("", "%s is triggered at %s, not at %s", kind.Name, kind.At, form)
	}
	if t.Moment != "" {
		var announced []string // by workloads
		for _, m := range []history.Moment{history.Calling, history.Granted, history.Refused, history.Entered,
			history.BeforeRelease, history.Released} {
			announced = append(announced, string(m))
		}
		oneOf(bad, "moment", t.Moment, announced)
	}
	validatePattern(bad, "request", t.Request)
	validatePattern(bad, "reply", t.Reply)
	notNegative(bad, "after", t.After, s)
	notNegative(bad, "within", t.Within, s)
	if t.Nth < 0 {
		bad("nth", "%d is negative; the first match is 1", t.Nth)
	}
}

var commandForm = regexp.MustCompile(`^(\*w|[A-Za-z_.]+)$`)

func validatePattern(bad Problems, path, text string) {
	if text == "" {
		return
	}
	op, command, both := strings.Cut(text, " ")
	known := []string{string(inAcquire), string(inExtend), string(inUse), string(inRelease), anyOperation}
	if !slices.Contains(known, op) {
		bad(path, "unknown operation %q; known are %s", op, foreign.List(known))
	}
	if both && !commandForm.MatchString(command) {
		bad(path, "%q: after the operation comes one command, or *w for all that write", command)
	}
}
