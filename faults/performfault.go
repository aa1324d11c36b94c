package faults

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
)

// begun is a fault of a score that is in force.
type begun struct {
	spec    Spec
	window  history.Window
	heal    func(ctx context.Context) error
	replica func() string // see Effect; nil for faults that are not injected
}

// mark begins or ends a fault.
func (p *performance) mark(ctx context.Context, s Step) {
	if s.Kind == StepEnd {
		p.end(s.Of)
		return
	}
	b := &begun{spec: s.Fault, window: history.Window{Fault: s.Fault.Fault, Client: s.Client, Node: s.Node, Start: p.timeline(), Moment: "as on the tape"}}
	p.begun[s.ID] = b
	switch {
	case IsFrameFault(s.Fault.Fault): // the loss, or the delay, is that of a message of the score
		b.window.Confirmed = true
	case IsClientFault(s.Fault.Fault):
		b.heal, b.window.Confirmed = p.director.Begin(s.Fault)
	default:
		p.inject(ctx, b)
	}
}

func (p *performance) inject(ctx context.Context, b *begun) {
	injector, ok := FindInjector(b.spec.Fault)
	if !ok {
		b.window.Note = "it cannot be done at a step"
		return
	}
	spec := b.spec
	if spec.Fault == Failover {
		spec.Until = OtherEntered // it lasts: the step that ends it is the promotion
	}
	e, err := injector.Inject(ctx, p.field, spec)
	b.window.Node, b.window.Client, b.window.Confirmed, b.window.Note = e.Node, e.Client, e.Confirmed && err == nil, e.Note
	if err != nil {
		b.window.Note = err.Error()
	}
	b.replica = e.replica
	if b.heal = e.Heal; b.spec.Fault == JumpClock {
		b.heal = nil // it stays as it is
	}
}

// end ends the fault that a step began.
func (p *performance) end(id int) {
	b, ok := p.begun[id]
	if !ok {
		return
	}
	delete(p.begun, id)
	if b.heal != nil {
		ctx, cancel := context.WithTimeout(context.Background(), healLimit) // a fault ends, whatever becomes of the run
		defer cancel()
		if err := b.heal(ctx); err != nil {
			b.window.Confirmed, b.window.Note = false, "not healed: "+err.Error()
		}
	}
	b.window.End = p.timeline()
	if b.replica != nil {
		b.window.Replica = b.replica()
	}
	p.windows(b.window)
}

// finish ends what must not outlive the run, and records what stays.
func (p *performance) finish() {
	for id, b := range p.begun {
		if b.spec.Fault == PauseClient || healsAtEnd(b.spec.Fault) {
			p.end(id)
			continue
		}
		p.windows(b.window)
	}
}

// Begin does a client's fault now, from outside its goroutine. heal ends it; nil when it has no end.
func (d *Director) Begin(s Spec) (heal func(ctx context.Context) error, confirmed bool) {
	c, where := d.clients[s.Client-1], "as on the tape"
	switch s.Fault {
	case PauseClient:
		return d.begin(c.body, s, where)
	case CrashClient:
		return nil, c.body.Kill(s, where)
	case CancelClient:
		return nil, d.cancelCall(s.Client - 1)
	}
	return nil, false
}

// begin stops a client until heal is called.
func (d *Director) begin(body Body, s Spec, where string) (heal func(context.Context) error, confirmed bool) {
	stopped, over := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { body.Stop(s, where, func() { close(stopped); <-over }) })
	heal = func(context.Context) error { close(over); work.Wait(); return nil }
	t := time.NewTimer(settleLimit)
	defer t.Stop()
	select {
	case <-stopped:
		return heal, true
	case <-t.C:
		return heal, false
	}
}
