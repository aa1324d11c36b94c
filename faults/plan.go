package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
)

// EventKind is what sort of thing happened.
type EventKind uint8

// The kinds of event.
const (
	Start    EventKind = iota // the run begins
	Time                      // an instant of the run has come
	Moment                    // a client has come to a moment
	Messages                  // a request or a reply is at a stage
)

// Event is something that happens in a run and at which faults may be placed.
type Event struct {
	Kind   EventKind      `json:"kind"`
	At     time.Duration  `json:"at,omitempty"`     // of a time: since the start of the run
	Client int            `json:"client,omitempty"` // from 1, of a moment and of a message
	Moment history.Moment `json:"moment,omitempty"`

	Stage     Stage            `json:"stage,omitempty"`
	Operation Operation        `json:"operation,omitempty"` // for which the request was sent, see [Plan.Operation]
	Command   *history.Command `json:"command,omitempty"`   // with its reply, from Answered on
	Write     bool             `json:"write,omitempty"`     // the command writes
}

// Due is a fault that strikes now: its Client is the one that came to the moment, if it is a fault of whoever comes first.
type Due struct {
	Spec
	Where string // the moment, in words
}

// Plan decides when the faults of a run strike. It matches and counts triggers, in every world alike, and knows the operation that
// each client is in. It may be used from several goroutines.
type Plan struct {
	lease     time.Duration
	nilGrants bool

	mu     sync.Mutex // protects what follows
	placed []*placed
	in     map[int]Operation // by client
}

// placed is a fault of a plan.
type placed struct {
	Spec
	kind Kind
	form Form
	on   pattern
	seen int // matches of its trigger so far
	left int // how often it is still to strike
}

// NewPlan makes a plan of resolved faults, in which nothing is left to be drawn. nilGrants says that a script of the lock that acquires answers
// nil when it did.
func NewPlan(specs []Spec, lease time.Duration, nilGrants bool) *Plan {
	p := &Plan{lease: lease, nilGrants: nilGrants, in: map[int]Operation{}}
	for _, s := range specs {
		kind, _ := FindKind(s.Fault)
		p.placed = append(p.placed, &placed{Spec: s, kind: kind, form: s.When.Form(), on: parsePattern(s.When.Request + s.When.Reply), left: max(s.Times, 1)})
	}
	return p
}

// Empty reports whether no fault is placed.
func (p *Plan) Empty() bool { return len(p.placed) == 0 }

// Next counts an event and lists the faults that strike at it, in the order of the plan.
func (p *Plan) Next(e Event) (due []Due) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.placed {
		if f.left == 0 || !p.matches(f, e) {
			continue
		}
		if f.seen++; f.seen < f.When.Nth {
			continue
		}
		f.left--
		due = append(due, f.due(e))
	}
	return due
}

// Watches reports whether the trigger of a fault matches an event, without counting it.
func (p *Plan) Watches(e Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.placed, func(f *placed) bool { return f.left > 0 && p.matches(f, e) })
}

// WatchesMessages reports whether a fault is placed at a message of a client in one of the stages; client 0 is any.
func (p *Plan) WatchesMessages(client int, stages ...Stage) bool {
	return slices.ContainsFunc(p.placed, func(f *placed) bool {
		return f.form&(AtRequest|AtReply) != 0 && slices.Contains(stages, f.stage()) && (client == 0 || f.When.Anyone || f.Client == client)
	})
}

// Times lists the instants at which faults strike that are placed at a time, as durations since the start of the run. A fault with
// Times strikes at as many multiples of its time.
func (p *Plan) Times() (all []time.Duration) {
	for _, f := range p.placed {
		if f.form != AtTime {
			continue
		}
		for n := range max(f.Times, 1) {
			all = append(all, time.Duration(n+1)*f.When.After.Of(p.lease))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Reach notes that a client has come to a moment, behind which it is in another operation.
func (p *Plan) Reach(client int, m history.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in[client] = after(m)
}

// Operation says for what a client sends a request now.
func (p *Plan) Operation(client int, toStore bool) Operation {
	if toStore {
		return InUse
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if op, known := p.in[client]; known {
		return op
	}
	return InExtend
}

// matches reports whether the trigger of a fault means an event. mu is held.
func (p *Plan) matches(f *placed, e Event) bool {
	switch e.Kind {
	case Start:
		return f.form == AtStart
	case Time:
		next := time.Duration(max(f.Times, 1)-f.left+1) * f.When.After.Of(p.lease)
		return f.form == AtTime && next <= e.At
	}
	if f.Client != e.Client && !f.When.Anyone {
		return false
	}
	if e.Kind == Moment {
		return f.form == AtMoment && f.When.Moment == string(e.Moment)
	}
	switch {
	case f.form&(AtRequest|AtReply) == 0 || f.stage() != e.Stage:
		return false
	case f.form == AtRequest:
		return f.on.matches(e.Operation, e.Command.Name, e.Write)
	case e.Stage == Returning && (e.Operation == InAcquire || e.Operation == InRelease) && e.Operation != p.in[e.Client]:
		return false // what it was sent for is over: a quorum was reached without it
	}
	return f.on.matchesReply(e.Operation, e.Command, e.Write, p.nilGrants)
}

// stage is where a message is at which the fault strikes.
func (f *placed) stage() Stage {
	switch onTheWay := f.kind.In == InMessage; {
	case f.form == AtRequest && onTheWay:
		return Underway
	case f.form == AtRequest:
		return Leaving
	case onTheWay:
		return Answered
	}
	return Returning
}

// due makes a fault that strikes at an event.
func (f *placed) due(e Event) Due {
	d := Due{Spec: f.Spec}
	if f.When.Anyone && f.kind.On == OneClient {
		d.Client = e.Client
	}
	switch {
	case e.Kind == Start:
		d.Where = "from the start"
	case e.Kind == Time:
		d.Where = "at " + e.At.String()
	case e.Kind == Moment:
		d.Where = string(e.Moment)
	case e.Stage == Leaving:
		d.Where = "before " + e.Command.Name
	case e.Stage == Underway:
		d.Where = "before " + e.Command.Name + " reached the node"
	default:
		d.Where = "after " + e.Command.Name + " was applied, before its reply was seen"
	}
	return d
}
