package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/servers"
)

// Injections does the network's and the servers' faults of one plan: those in force from the start, those placed at a time,
// those placed at a client's moment (of which the Director tells it), and the loss and delay of single requests and replies. It
// measures each and sees to its end. Close ends what is still in force.
type Injections struct {
	cfg  InjectionsConfig
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	mu   sync.Mutex // protects what follows
	errs []error
}

// InjectionsConfig is what Injections need.
type InjectionsConfig struct {
	Field    Field
	Timeline func() int64         // nanoseconds on the run's base
	Windows  func(history.Window) // takes what was measured; may be called from several goroutines
	// Wait is how long a fault that began at since lasts: Spec.For, and until Spec.Until. It returns early when ctx ends.
	Wait func(ctx context.Context, client int, s Spec)
}

// NewInjections checks that every fault of a resolved plan can be done to the field. Nothing is done yet.
func NewInjections(cfg InjectionsConfig, plan []Spec) (*Injections, error) {
	var errs []error
	for _, s := range plan {
		errs = append(errs, available(cfg.Field, s.Fault))
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Injections{cfg: cfg, ctx: ctx, stop: stop}, errors.Join(errs...)
}

func available(f Field, name string) error {
	if IsFrameFault(name) {
		return wrapFault(name, needProxy(f))
	}
	if i, ok := FindInjector(name); ok {
		return wrapFault(name, i.Available(f))
	}
	return nil // a client's: the Director's business
}

func wrapFault(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Start puts in force what holds from the start, arms the faults of single requests and replies, and begins to wait for the times
// of others. What is in force from the start is so when it returns.
func (i *Injections) Start(ctx context.Context, plan []Spec) {
	for _, s := range plan {
		_, known := FindInjector(s.Fault)
		switch {
		case IsFrameFault(s.Fault):
			i.arm(s)
		case !known:
		case s.When == (Trigger{}):
			i.Strike(ctx, s, "from the start")
		case s.When.After != (Span{}):
			i.work.Go(func() { i.later(s) })
		}
	}
}

// later strikes at a time, and again as often as the spec says.
func (i *Injections) later(s Spec) {
	for n := range max(s.Times, 1) {
		due := time.Duration(n+1)*s.When.After.Of(i.cfg.Field.Lease) - time.Duration(i.cfg.Timeline())
		if !sleep(i.ctx.Done(), due) {
			return
		}
		i.Strike(i.ctx, s, "at "+s.When.After.String())
	}
}

// Strike does a fault now. It returns when the fault is in force, and sees to its end itself. Faults of single
// requests and replies are armed from the start and not struck.
func (i *Injections) Strike(ctx context.Context, s Spec, where string) {
	injector, ok := FindInjector(s.Fault)
	if !ok || IsFrameFault(s.Fault) {
		return
	}
	since := i.cfg.Timeline()
	e, err := injector.Inject(ctx, i.cfg.Field, s)
	w := history.Window{Fault: s.Fault, Client: e.Client, Node: e.Node, Start: since, Confirmed: e.Confirmed && err == nil, Moment: where, Note: e.Note}
	if err != nil {
		w.Note = err.Error()
	}
	if err != nil || !s.lasts() {
		w.End, w.Replica = i.instant(s, err), e.replica()
		i.cfg.Windows(w)
		if e.Heal != nil && healsAtEnd(s.Fault) {
			i.work.Go(func() { i.atEnd(e) })
		}
		return
	}
	i.work.Go(func() { i.end(s, e, w) })
}

// instant is the end of a fault that is not healed: now for one that is over as soon as it is done, and never otherwise.
func (i *Injections) instant(s Spec, err error) int64 {
	switch s.Fault {
	case FlushScripts, DeleteKey, EvictKeys, CutPubSub, Failover:
		return i.cfg.Timeline()
	}
	if err != nil {
		return i.cfg.Timeline()
	}
	return 0
}

// healsAtEnd tells faults that must not outlive the run: a paused server cannot be closed, a blocked link cannot be drained.
func healsAtEnd(fault string) bool { return fault == PauseServer || NeedsProxy(fault) }

func (i *Injections) atEnd(e Effect) {
	<-i.ctx.Done()
	i.heal(e)
}

// end waits for the fault's time, heals it and records it.
func (i *Injections) end(s Spec, e Effect, w history.Window) {
	i.cfg.Wait(i.ctx, s.Client-1, s)
	w.Ending = i.cfg.Timeline()
	if e.Heal != nil {
		if err := i.heal(e); err != nil {
			w.Confirmed, w.Note = false, "not healed: "+err.Error()
		}
	}
	w.End, w.Replica = i.cfg.Timeline(), e.replica()
	i.cfg.Windows(w)
}

// healLimit bounds the healing of one fault: a server must come up again.
const healLimit = 20 * time.Second

func (i *Injections) heal(e Effect) error {
	ctx, cancel := context.WithTimeout(context.Background(), healLimit) // Close must not keep a fault from being healed
	defer cancel()
	err := e.Heal(ctx)
	if err != nil && !errors.Is(err, servers.ErrState) { // another fault has struck the node meanwhile: this one is not confirmed, and no more
		i.mu.Lock()
		defer i.mu.Unlock()
		i.errs = append(i.errs, err)
	}
	return err
}

// arm makes a rule of the loss or delay of a request or a reply.
func (i *Injections) arm(s Spec) {
	f := i.cfg.Field
	rule := Rule{
		Client: clientName(s.Client), Node: s.Node, Request: s.When.Request, Reply: s.When.Reply, Nth: s.When.Nth,
		Times: max(s.Times, 1), Do: Cut, NilGrants: f.NilGrants, Struck: func(st Strike) { i.struck(s, st) },
	}
	if s.Fault == DelayRequest || s.Fault == DelayReply {
		rule.Do = Hold
		rule.Wait = func(done <-chan struct{}) { i.hold(s, done) }
	}
	f.Proxy.Add(rule)
}

// hold waits as long as a delay lasts, or until the connection or the run has ended.
func (i *Injections) hold(s Spec, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(i.ctx)
	defer cancel()
	over := make(chan struct{})
	i.work.Go(func() {
		select {
		case <-done:
			cancel()
		case <-over:
		}
	})
	i.cfg.Wait(ctx, s.Client-1, s)
	close(over)
}

func (i *Injections) struck(s Spec, st Strike) {
	where := "before " + st.Command.Name + " reached the node"
	if s.When.Reply != "" {
		where = "after " + st.Command.Name + " was applied, before its reply was seen"
	}
	i.cfg.Windows(history.Window{Fault: s.Fault, Client: st.Client, Node: st.Node, Start: st.Start, End: st.End, Confirmed: true, Moment: where})
}

// Close ends every fault that is still in force, waits for it, and tells what could not be healed.
func (i *Injections) Close() error {
	i.stop()
	i.work.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	return errors.Join(i.errs...)
}
