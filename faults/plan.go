package faults

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Operation is what a request is sent for.
type Operation string

// The operations. A request that a lock sends while its client neither acquires nor releases is an
// extend.
const (
	inAcquire Operation = "acquire"
	inExtend  Operation = "extend"
	inUse     Operation = "use" // sent to the guarded store
	inRelease Operation = "release"

	anyOperation = "any"
	anyWrite     = "*w"
)

// Stage is how far a request or reply has come.
type Stage uint8

// The stages. Faults of messages are injected on the way, all others at the client.
const (
	Leaving   Stage = iota + 1 // the request has not left its client
	Underway                   // the request is between client and node
	Answered                   // the reply is between node and client
	Returning                  // the reply has reached the client, which has not seen it
)

type eventKind uint8

// The kinds of event.
const (
	Start    eventKind = iota // the run begins
	Time                      // an instant of the run has come
	Moment                    // a client has come to a moment
	Messages                  // a request or a reply has reached a stage
)

// Event is something that happens in a run and at which a fault may be placed.
type Event struct {
	Kind   eventKind      `json:"kind"`
	At     time.Duration  `json:"at,omitempty"`     // of a time: since the start of the run
	Client int            `json:"client,omitempty"` // from 1, of a moment and of a message
	Moment history.Moment `json:"moment,omitempty"`

	Stage     Stage            `json:"stage,omitempty"`
	Operation Operation        `json:"operation,omitempty"` // for which the request was sent; see [Plan.Operation]
	Command   *history.Command `json:"command,omitempty"`   // with its reply, from Answered on
	Write     bool             `json:"write,omitempty"`     // the command writes
}

// Plan decides when the faults of a run are injected, alike in every world. It counts the matches
// of triggers. It is safe for concurrent use.
type Plan struct {
	lease     time.Duration
	nilGrants bool

	mu     sync.Mutex // guards the fields below
	placed []*placed
	in     map[int]Operation // by client
}

type placed struct {
	Spec
	kind Kind
	form Form
	// of its request or reply: the operation, and the command, "" for any
	operation, command string

	seen map[int]int // matches of its trigger so far, by client; of a time and of the start by 0
	left int         // how often it will still be injected
}

// NewPlan returns a plan of faults of which nothing is left to draw. nilGrants says that the lock's
// acquire script replies nil when it grants.
func NewPlan(specs []Spec, lease time.Duration, nilGrants bool) *Plan {
	p := &Plan{lease: lease, nilGrants: nilGrants, in: map[int]Operation{}}
	for _, s := range specs {
		kind, _ := FindKind(s.Fault)
		operation, command, _ := strings.Cut(strings.TrimSpace(s.When.Request+s.When.Reply), " ")
		p.placed = append(p.placed, &placed{Spec: s, kind: kind, form: s.When.Form(), operation: operation,
			command: strings.TrimSpace(command), seen: map[int]int{}, left: max(s.Times, 1)})
	}
	return p
}

// Empty reports whether no fault is placed.
func (p *Plan) Empty() bool { return len(p.placed) == 0 }

// next counts an event and returns the faults to be injected at it, in the order of the plan. Where
// the plan names no client, it is the one that came.
func (p *Plan) next(e Event) (due []Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.placed {
		if f.left == 0 || !p.matches(f, e) {
			continue
		}
		if f.seen[e.Client]++; f.seen[e.Client] < f.When.Nth {
			continue
		}
		if f.When.OfClient() {
			f.Client = e.Client
		}
		f.left--
		due = append(due, f.Spec)
	}
	return due
}

// Watches reports whether the trigger of a fault matches an event, without counting it.
func (p *Plan) Watches(e Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.placed, func(f *placed) bool { return f.left > 0 && p.matches(f, e) })
}

// WatchesMessages reports whether a fault is placed at a message of the client in one of the
// stages; client 0 means any client.
func (p *Plan) WatchesMessages(client int, stages ...Stage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.placed, func(f *placed) bool {
		return f.form&(AtRequest|AtReply) != 0 && slices.Contains(stages, f.stage()) && (client == 0 || f.Client == 0 || f.Client == client)
	})
}

// Reach records that a client has reached a moment, which may begin another operation.
func (p *Plan) Reach(client int, m history.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m {
	case history.Calling:
		p.in[client] = inAcquire
	case history.BeforeRelease:
		p.in[client] = inRelease
	default:
		p.in[client] = inExtend
	}
}

// Operation returns the operation for which the client sends a request now.
func (p *Plan) Operation(client int, toStore bool) Operation {
	if toStore {
		return inUse
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if op, known := p.in[client]; known {
		return op
	}
	return inExtend
}

// matches reports whether the trigger of a fault matches an event. mu must be held.
func (p *Plan) matches(f *placed, e Event) bool {
	switch e.Kind {
	case Start:
		return f.form == AtStart
	case Time:
		next := time.Duration(max(f.Times, 1)-f.left+1) * f.When.After.Of(p.lease)
		return f.form == AtTime && next <= e.At
	}
	taken := func(o *placed) bool { return o != f && o.Fault == f.Fault && o.Client == e.Client }
	if f.Client != e.Client && (f.Client != 0 || slices.ContainsFunc(p.placed, taken)) {
		return false
	}
	if e.Kind == Moment {
		return f.form == AtMoment && f.When.Moment == string(e.Moment)
	}
	switch {
	case f.form&(AtRequest|AtReply) == 0 || f.stage() != e.Stage:
		return false
	case e.Stage == Returning && (e.Operation == inAcquire || e.Operation == inRelease) && e.Operation != p.in[e.Client]:
		return false // the operation is over: a quorum was reached without this reply
	case upstream.Opening(e.Command.Name): // belongs to no operation
		return false
	case f.operation != anyOperation && f.operation != string(e.Operation):
		return false
	case f.command != anyWrite:
		return f.command == "" || strings.EqualFold(f.command, e.Command.Name)
	}
	return e.Write && (f.form == AtRequest || wrote(e, p.nilGrants))
}

// wrote reports whether a command that writes has written, by its reply: a refused SET NX has not.
// A script that replies several values says so in the first. nilGrants reverses the meaning of an
// acquire script's nil.
func wrote(e Event, nilGrants bool) bool {
	reply := e.Command.Reply
	switch script := strings.HasPrefix(e.Command.Name, "EVAL"); {
	case script && e.Operation == inRelease && reply == "(nil)": // a release script may reply so whether or not it released
		return true
	case script && nilGrants && e.Operation == inAcquire:
		return reply == "(nil)"
	}
	return reply != "(nil)" && reply != "0" && reply != "[0]" &&
		!strings.HasPrefix(reply, "[0, ") && !strings.HasPrefix(reply, "-")
}

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

// moment describes the event for people.
func (e Event) moment() string {
	switch {
	case e.Kind == Start:
		return "from the start"
	case e.Kind == Time:
		return "at " + e.At.String()
	case e.Kind == Moment:
		return string(e.Moment)
	case e.Stage == Leaving:
		return "before " + e.Command.Name
	case e.Stage == Underway:
		return "before " + e.Command.Name + " reached the node"
	}
	return "after " + e.Command.Name + " was applied, before its reply was seen"
}
