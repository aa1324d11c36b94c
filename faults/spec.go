package faults

import "strings"

// The range of a drifting clock's rate.
const (
	slowestClock = 0.01
	fastestClock = 100.0
)

// Spec is one fault of a plan: what is done, to whom, at which moment, and for how long, in every
// world alike. Scenario files are lists of Specs.
type Spec struct {
	// Fault is a name of the vocabulary, such as pause-client.
	Fault string `yaml:"fault" json:"fault"`
	// Client is the number of the client it is done to, and at whose moment or message it is
	// injected, from 1. 0 means, at a moment or message, the client that is the first to come to
	// its Nth match and that no fault of the same name has taken: a client named in advance may
	// never get the lock, or get it when no other is left to harm. Elsewhere 0 means drawn from the
	// seed.
	Client int `yaml:"client,omitempty" json:"client,omitempty"`
	// Node is the number of the node it is done to, from 1; 0 means drawn from the seed, for faults
	// of nodes: of a pair, the primary.
	Node int `yaml:"node,omitempty" json:"node,omitempty"`
	// When is the moment at which it is injected. Empty means in force from the start, for faults
	// that allow it.
	When Trigger `yaml:"when,omitempty,flow" json:"when,omitzero"`
	// For is how long it lasts; zero means for ever, or that the fault is instantaneous.
	For Span `yaml:"for,omitempty" json:"for,omitzero"`
	// Until names an event for which the fault waits after For, ten leases at most: other-entered
	// (another client enters its critical section).
	Until string `yaml:"until,omitempty" json:"until,omitempty"`
	// By is the size of a clock fault, a delay or a limit, depending on the fault.
	By Span `yaml:"by,omitempty" json:"by,omitzero"`
	// Rate is the speed of a drifting clock (1 = true; 0.01 to 100), or bytes per
	// second of a limited link.
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Times is how often it is repeated at the same trigger; 0 means once.
	Times int `yaml:"times,omitempty" json:"times,omitempty"`
}

// OtherEntered is the one event that Spec.Until may name: another client enters its critical
// section.
const OtherEntered = "other-entered"

// lasts reports whether the fault has a length. Without one it is over at once, or stays.
func (s Spec) lasts() bool { return s.For != (Span{}) || s.Until != "" }

// Trigger names a moment. Exactly one of Moment, Request, Reply, After and Within is set.
type Trigger struct {
	// Moment is a step that workloads announce: calling, granted, entered, before-release,
	// released.
	Moment string `yaml:"moment,omitempty" json:"moment,omitempty"`
	// Request injects it before a request leaves the client; Reply, when the node has replied and
	// the client has not seen it. Both name an operation (acquire, extend, use, release, any) and may name a command:
	// "acquire", "acquire SET", "release EVALSHA". "acquire *w" matches commands that write.
	Request string `yaml:"request,omitempty" json:"request,omitempty"`
	Reply   string `yaml:"reply,omitempty" json:"reply,omitempty"`
	// After injects it at a time after the start of the run.
	After Span `yaml:"after,omitempty" json:"after,omitzero"`
	// Within injects it at a time up to this, drawn from the seed; a resolved plan has After
	// instead.
	Within Span `yaml:"within,omitempty" json:"within,omitzero"`
	// Nth is the match of Moment, Request or Reply at which it is injected, counted per client from
	// 1; 0 means 1.
	Nth int `yaml:"nth,omitempty" json:"nth,omitempty"`
}

// OfClient reports whether it is a step of a client: a moment or a message.
func (t Trigger) OfClient() bool { return t.Form()&(AtMoment|AtRequest|AtReply) != 0 }

// Form returns the form of the trigger.
func (t Trigger) Form() Form {
	switch {
	case t.Moment != "":
		return AtMoment
	case t.Request != "":
		return AtRequest
	case t.Reply != "":
		return AtReply
	case t.After != (Span{}) || t.Within != (Span{}):
		return AtTime
	}
	return AtStart
}

// String describes the form for messages.
func (f Form) String() string {
	var names []string
	for i, name := range []string{"the start", "a time", "a moment", "a request", "a reply"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
