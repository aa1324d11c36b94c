package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/subprocess"
)

// runProcesses runs every client as its own process until all are done. A client waits at an event of a fault, which the run applies.
func (d *serverDriver) runProcesses(ctx context.Context) error {
	all := make([]*processClient, d.Scenario.Clients)
	for i := range all {
		all[i] = &processClient{driver: d, index: i, rec: d.newRecord(i), started: make(chan struct{})}
		d.world.Enlist(i+1, all[i])
	}
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, p := range all {
		group.Go(func() { errs[i] = p.run(ctx, d.job(i, d.machine)) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (d *serverDriver) job(index int, base int64) job {
	s := d.setup(index)
	return job{Setup: s, Variant: d.Variant.Name, Topology: s.Variant.Topology, Workload: d.Scenario.Workload, Addrs: d.servers.addrs(), Known: d.servers.known(), Seed: d.Seed,
		Skew: d.director.Standing(index + 1).Skew, Open: d.OpenLoop(), Faults: d.Scenario.Faults, Base: base, Wait: d.network != nil, Guest: d.Provider.Guest()}
}

// processClient is the run's side of one client process.
type processClient struct {
	driver  *serverDriver
	index   int
	rec     clientRecord
	process *subprocess.Process
	started chan struct{}  // closed once the process runs or could not be started
	runs    bool           // set before that
	failed  error          // why it failed, or its violation of the protocol
	work    sync.WaitGroup // events and dial requests being handled

	inject.Holds // at its event

	mu    sync.Mutex          // guards the fields below
	under []history.Operation // begun and not returned, outermost first
	dead  bool
	last  *history.Command // whose reply it died of
}

func (p *processClient) run(ctx context.Context, j job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := p.start(ctx, j)
	p.runs = err == nil
	close(p.started)
	if err != nil {
		return fmt.Errorf("client process c%d: %w", p.index+1, err)
	}
	p.work.Go(func() { p.watch(ctx) })
	<-p.process.Gone()
	cancel() // aborts its pending dials
	p.work.Wait()
	return p.finish()
}

func (p *processClient) start(ctx context.Context, j job) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), ClientVariable+"=1")
	p.process = subprocess.New(cmd, subprocess.Listener{
		Line: func(_ int, line []byte) error {
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("client process c%d: it said %.80q: %w", p.index+1, line, err)
			}
			return p.receive(ctx, m)
		},
		End: func(err error) { p.failed = err },
	})
	if err := p.process.Start(); err != nil {
		return err
	}
	_ = p.process.Send(instruction{Job: &j}) // if the process has ended, finish returns the reason
	return nil
}

// watch forwards the run's stop, and kills the process when ctx ends, until the process is gone. A process that is gone needs neither.
func (p *processClient) watch(ctx context.Context) {
	select {
	case <-p.driver.Stop:
		_ = p.process.Send(instruction{Stop: true})
	case <-ctx.Done():
	case <-p.process.Gone():
		return
	}
	select {
	case <-ctx.Done():
		_ = p.process.Kill()
	case <-p.process.Gone():
	}
}

func (p *processClient) receive(ctx context.Context, n message) error {
	d := p.driver
	switch {
	case n.Begin != nil:
		p.began(*n.Begin)
	case n.Op != nil:
		p.returned(*n.Op)
	case n.Observed != nil:
		o := n.Observed
		p.rec.observe(o.Op, o.Outcome, o.Intended, o.Call, o.Return)
	case n.Command != nil:
		p.rec.AddCommand(*n.Command)
	case n.Script != nil:
		p.rec.AddScript(*n.Script)
	case n.Event != nil:
		if n.Event.Kind == faults.Moment {
			d.director.Reach(p.index+1, n.Event.Moment)
		}
		if n.Ask > 0 { // no fault is placed at the others
			p.work.Go(func() { p.event(ctx, *n.Event); p.answer(n.Ask, answer{}) })
		}
	case n.Dial != nil:
		p.work.Go(func() { p.answer(n.Ask, p.dialFor(ctx, *n.Dial)) })
	case n.Failed != "" && n.Lacks:
		return fmt.Errorf("client c%d: %w: %s", p.index+1, impls.ErrUnsupported, n.Failed)
	case n.Failed != "":
		return fmt.Errorf("client c%d: %s", p.index+1, n.Failed)
	case n.Done:
		p.process.CloseInput()
	}
	return nil
}

// answer replies to a message with Ask. A process that has ended needs no reply.
func (p *processClient) answer(ask int64, a answer) {
	if a.To = ask; ask > 0 {
		_ = p.process.Send(instruction{Answer: &a})
	}
}

// dialFor prepares the route that the process asks for.
func (p *processClient) dialFor(ctx context.Context, to dialRequest) answer {
	if to.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(to.Within))
		defer cancel()
	}
	addr, err := p.driver.routeAddr(ctx, p.index, to.Addr)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Addr: addr}
}

func (p *processClient) began(op history.Operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under = append(p.under, op)
}

func (p *processClient) returned(op history.Operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.under) - 1; i >= 0; i-- {
		if p.under[i].Op == op.Op && p.under[i].Call == op.Call {
			p.under = append(p.under[:i], p.under[i+1:]...)
			break
		}
	}
	p.rec.Add(op)
}

// event applies the faults placed at an event of the process, and returns when the process may continue.
func (p *processClient) event(ctx context.Context, e faults.Event) {
	p.driver.director.Event(ctx, e, nil)
	p.mu.Lock()
	if p.dead && e.Stage == faults.Returning {
		p.last = e.Command
	}
	p.mu.Unlock()
	p.Wait(ctx.Done(), nil)
}

var _ faults.Client = (*processClient)(nil)

func (p *processClient) Pause(ctx context.Context) (faults.Undo, error) {
	if err := p.await(ctx); err != nil {
		return nil, err
	}
	err := p.process.Stop()
	if errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("%w: the client has ended", faults.ErrNothing)
	}
	return func(context.Context) error {
		if err := p.process.Continue(); !errors.Is(err, os.ErrProcessDone) { // an abandoned run may have killed it
			return err
		}
		return nil
	}, err
}

// await waits until the process runs: a fault at an instant of the run may come before. It returns faults.ErrNothing if the process never will.
func (p *processClient) await(ctx context.Context) error {
	select {
	case <-p.started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !p.runs {
		return fmt.Errorf("%w: the client did not start", faults.ErrNothing)
	}
	return nil
}

func (p *processClient) Crash(ctx context.Context) error {
	if err := p.await(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	return p.process.Kill()
}

func (p *processClient) Cancel(context.Context) error {
	p.mu.Lock()
	asks := slices.ContainsFunc(p.under, func(op history.Operation) bool { return op.Op == history.Acquire })
	p.mu.Unlock()
	if !asks {
		return fmt.Errorf("%w: no acquire is under way", faults.ErrNothing)
	}
	return p.process.Send(instruction{Cancel: true})
}

// finish waits for the process and records what was under way when it died.
func (p *processClient) finish() error {
	<-p.process.Ended()
	died := p.driver.timeline()
	p.driver.director.Left(p.index + 1)
	if p.last != nil {
		p.rec.AddCommand(*p.last)
	}
	for _, op := range p.under {
		op.Return = died
		if op.Op != history.Use {
			op.Outcome = history.Unknown
		}
		p.rec.Add(op)
	}
	if err := p.process.Err(); err != nil && p.failed == nil && !p.process.Killed() {
		return fmt.Errorf("client process c%d: %w; its last words:\n%s", p.index+1, err, p.process.LastWords())
	}
	return p.failed
}
