package faults

import (
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
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

// dueFault is a fault to be injected now. Its Client is the one that came, where the plan names
// none.
type dueFault struct {
	Spec
	Where string // the moment, for people
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
	on   pattern
	seen map[int]int // matches of its trigger so far, by client; of a time and of the start by 0
	left int         // how often it will still be injected
}

// NewPlan returns a plan of faults of which nothing is left to draw. nilGrants says that the lock's
// acquire script replies nil when it grants.
func NewPlan(specs []Spec, lease time.Duration, nilGrants bool) *Plan {
	p := &Plan{lease: lease, nilGrants: nilGrants, in: map[int]Operation{}}
	for _, s := range specs {
		kind, _ := FindKind(s.Fault)
		p.placed = append(p.placed, &placed{Spec: s, kind: kind, form: s.When.Form(), on: parsePattern(s.When.Request + s.When.Reply), seen: map[int]int{},
			left: max(s.Times, 1)})
	}
	return p
}

// Empty reports whether no fault is placed.
func (p *Plan) Empty() bool { return len(p.placed) == 0 }

// next counts an event and returns the faults to be injected at it, in the order of the plan.
func (p *Plan) next(e Event) (due []dueFault) {
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
		due = append(due, dueFault{f.Spec, e.moment()})
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

// times returns when faults are injected, since the start of the run: one with Spec.Times n at the
// first n multiples of its time.
func (p *Plan) times() (all []time.Duration) {
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

// Reach records that a client has reached a moment, which may begin another operation.
func (p *Plan) Reach(client int, m history.Moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in[client] = after(m)
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
	case f.form == AtRequest:
		return f.on.matches(e.Operation, e.Command.Name, e.Write)
	case e.Stage == Returning && (e.Operation == inAcquire || e.Operation == inRelease) && e.Operation != p.in[e.Client]:
		return false // the operation is over: a quorum was reached without this reply
	}
	return f.on.matchesReply(e.Operation, e.Command, e.Write, p.nilGrants)
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
