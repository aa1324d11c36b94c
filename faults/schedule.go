package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Schedule is what happened in a run, step by step, for replaying it in the same order: every
// message between clients and nodes, every moment of a client, and every fault. It leaves out
// handshakes (see [Handshake]) and messages to subscribers.
type Schedule []Step

// Step is one step of a Schedule.
type Step struct {
	ID   int      `json:"id"` // unique in its schedule, from 1
	At   int64    `json:"at"` // nanoseconds on the base of the run that the schedule was taken from
	Kind stepKind `json:"kind"`
	Of   int      `json:"of,omitempty"` // of a reply: the ID of its request; of an end: the ID of the fault's beginning

	Client  string `json:"client,omitempty"`  // c1, c2, …
	Node    int    `json:"node"`              // from 0; -1 for the guarded store's own server
	Command string `json:"command,omitempty"` // of a message: its command; of a moment: its name
	Sent    int64  `json:"sent,omitempty"`    // of a request: when it left the client
	Replied int64  `json:"replied,omitempty"` // of a request: when its node had replied, unless that took long
	Lost    bool   `json:"lost,omitempty"`    // it never arrives, and the connection is cut

	Fault Spec `json:"fault,omitzero"` // of a beginning and of an end
}

type stepKind string

// The kinds of step.
const (
	StepRequest   stepKind = "request"   // reaches its node
	StepReply     stepKind = "reply"     // reaches its client
	StepMoment    stepKind = "moment"    // a client reaches a moment (see history.Moment) and goes on
	StepBegin     stepKind = "begin"     // a fault begins
	StepEnd       stepKind = "end"       // a fault ends
	StepReplicate stepKind = "replicate" // the replica receives what the primary has written
)

// String describes a step for people.
func (s Step) String() string {
	where := fmt.Sprintf("node %d", s.Node+1)
	if s.Node < 0 {
		where = "the store"
	}
	switch s.Kind {
	case StepRequest:
		return fmt.Sprintf("%s of %s at %s", s.Command, s.Client, where)
	case StepReply:
		return fmt.Sprintf("the reply to %s of %s from %s", s.Command, s.Client, where)
	case StepMoment:
		return s.Client + " " + s.Command
	case StepReplicate:
		return "a write at the replica"
	}
	return strings.TrimSpace(fmt.Sprintf("%s of %s", s.Kind, s.Fault.Fault))
}

// Key identifies what waits for its turn at a step: a request, the reply to a request, or a moment.
func (s Step) Key() string {
	switch s.Kind {
	case StepReply:
		return fmt.Sprintf("reply %d", s.Of)
	case StepMoment:
		return s.Client + " " + s.Command
	}
	return fmt.Sprintf("%s %d %s", s.Client, s.Node, s.Command)
}

// Done estimates when a node executed a request: half-way to its reply. Of another step it returns
// At.
func (s Step) Done() int64 {
	return s.At + max(s.Replied-s.At, 0)/2
}

// Playable converts a schedule for real servers, whose replicas follow at once: a failover begins,
// with the cut, where the replica had its last write.
func (s Schedule) Playable() Schedule {
	var out Schedule
	last := 0 // where the writes that the replica missed begin
	for _, step := range s {
		kind, _ := FindKind(step.Fault.Fault)
		switch {
		case step.Kind == StepReplicate:
			last = len(out)
		case step.Kind == StepBegin && kind.Promotes():
			at := int64(0)
			if last > 0 {
				at = out[last-1].At
			}
			step.At = min(step.At, at)
			out = slices.Insert(out, last, step)
		default:
			out = append(out, step)
		}
	}
	return out
}

// Faults returns the faults that begin in the schedule, in order.
func (s Schedule) Faults() (all []Spec) {
	for _, step := range s {
		if step.Kind == StepBegin {
			all = append(all, step.Fault)
		}
	}
	return all
}

// Order is how far a run followed a schedule.
type Order struct {
	Passed int    `json:"passed"` // steps performed in their order
	Steps  int    `json:"steps"`
	Left   string `json:"left,omitempty"` // where and how the run diverged; "" if it did not
}

// Placements describes the faults that a tape has from the start, and the steps of its schedule
// between which the others lie.
func Placements(standing []Spec, schedule Schedule) []string {
	var out []string
	for _, f := range standing {
		out = append(out, f.Fault+" from the start")
	}
	ends := map[int]int{}
	for i, s := range schedule {
		ends[s.Of] = i + 1 // for replies too, whose entries are not used
	}
	for i, s := range schedule {
		if s.Kind != StepBegin {
			continue
		}
		text := fmt.Sprintf("%s as step %d", strings.Join(strings.Fields(s.Fault.Fault+" "+s.Client), " "), i+1)
		if s.Client == "" && s.Fault.Node > 0 {
			text = fmt.Sprintf("%s node %d as step %d", s.Fault.Fault, s.Fault.Node, i+1)
		}
		if end := ends[s.ID]; end > i+2 {
			text += fmt.Sprintf(", until step %d", end)
		}
		out = append(out, text)
	}
	return out
}

// Held is a message of a real run that waits for its turn.
type Held struct {
	Client int // from 1
	Node   int // from 0; -1 for the guarded store's own server
	Reply  bool
	Since  int // the step at which it arrived
}

// String identifies the message by client and node.
func (h Held) String() string {
	if h.Node < 0 {
		return ClientName(h.Client) + "-store"
	}
	return fmt.Sprintf("%s-n%d", ClientName(h.Client), h.Node+1)
}

// Turn is what happens next in a run whose messages pass one by one: the fault is injected, else
// the held message passes, else time passes.
type Turn struct {
	Held  int           // index of the message that passes or that the fault affects; -1: none
	Fault Spec          // the fault that is injected; without a name: none
	Wait  time.Duration // how long to wait
}
