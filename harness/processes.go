package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// processes runs every client as a process of its own until all are done. A client that reaches a fault's moment says so and stops
// or kills itself; the run sees it stopped, measures, and lets it go on.
func (d *drive) processes(ctx context.Context) error {
	all := make([]*process, d.Scenario.Clients)
	for i := range all {
		all[i] = &process{drive: d, index: i, rec: d.newRecord(i)}
		d.director.Enlist(i, nil, d.Scenario.Faults)
	}
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, p := range all {
		group.Go(func() { errs[i] = p.run(ctx, d.job(i, d.machine)) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (d *drive) job(index int, base int64) job {
	s := d.setup(index)
	return job{Variant: d.Variant.Name, Topology: s.Variant.Topology, Workload: d.Scenario.Workload, Config: s.Config, Index: index, Clients: s.Clients, Owner: s.Owner,
		Prefix: s.Prefix, PollNS: int64(s.Poll), Permits: s.Permits, Settings: s.Settings, Addrs: d.field.addrs(), Seed: d.Seed,
		SkewNS: int64(d.skew(index)), Rate: d.Scenario.Rate, LeaseNS: int64(d.lease()), Faults: d.Scenario.Faults, Base: base,
		Wait: d.injected.network != nil}
}

// process is one client process as the run sees it.
type process struct {
	drive *drive
	index int
	rec   record
	cmd   *exec.Cmd
	in    io.WriteCloser
	told  bool                // it has said why it failed
	under []history.Operation // begun and not returned, outermost first
	work  sync.WaitGroup      // stops that are being measured, and ways that are being made
}

// run starts the process and follows it to its end. The thread that starts it stays with it: a child that is to die with its
// parent dies with the thread that made it.
func (p *process) run(ctx context.Context, j job) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := p.start(j)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quit := p.watch(ctx)
	err = p.follow(ctx, out)
	close(quit)
	cancel() // who still dials for it need not
	p.work.Wait()
	return errors.Join(err, p.finish())
}

func (p *process) start(j job) (io.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("client process: %w", err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), ClientVariable+"=1")
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = dieWithParent()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("client process: %w", err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("client process: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("client process: %w", err)
	}
	return out, p.order(order{Job: &j})
}

func (p *process) order(o order) error {
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		return fmt.Errorf("client process c%d: give orders: %w", p.index+1, err)
	}
	return nil
}

// watch passes on the run's stop, and ends the process with the run. It is over when quit is closed.
func (p *process) watch(ctx context.Context) chan struct{} {
	quit := make(chan struct{})
	p.work.Go(func() {
		select {
		case <-p.drive.Stop:
			_ = p.order(order{Stop: true}) // a process that is gone has stopped
		case <-ctx.Done():
		case <-quit:
			return
		}
		select {
		case <-ctx.Done():
			_ = p.cmd.Process.Kill()
		case <-quit:
		}
	})
	return quit
}

// follow takes in the news of the process until it is done or dead.
func (p *process) follow(ctx context.Context, out io.Reader) error {
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var n news
		if err := lines.Decode(&n); err != nil {
			return nil // its end; finish says whether it was a good one
		}
		if err := p.hear(ctx, n); err != nil {
			return err
		}
		if n.Done {
			_ = p.in.Close()
			return nil
		}
	}
}

func (p *process) hear(ctx context.Context, n news) error {
	d := p.drive
	switch {
	case n.Begin != nil:
		p.under = append(p.under, *n.Begin)
	case n.Op != nil:
		p.returned(*n.Op)
	case n.Observed != nil:
		o := n.Observed
		p.rec.observe(o.Op, o.Outcome, o.Intended, o.Call, o.Return)
	case n.Command != nil:
		p.rec.AddCommand(*n.Command)
	case n.Window != nil:
		d.windows.Add(*n.Window)
	case n.Moment != "":
		err := d.director.At(ctx, p.index, n.Moment)
		p.answer(n.Ask, answer{})
		return err
	case n.Stopping != nil:
		p.stopped(ctx, *n.Stopping)
	case n.Inject != nil:
		d.director.Inject(ctx, n.Inject.Spec, n.Inject.Moment)
		p.answer(n.Ask, answer{})
	case n.Claim != nil:
		p.answer(n.Ask, answer{Yes: d.director.First(*n.Claim)})
	case n.Dial != nil:
		p.work.Go(func() { p.answer(n.Ask, p.way(ctx, *n.Dial)) })
	case n.Failed != "":
		p.told = true
		if n.Lacks {
			return fmt.Errorf("client c%d: %w: %s", p.index+1, impls.ErrUnsupported, n.Failed)
		}
		return fmt.Errorf("client c%d: %s", p.index+1, n.Failed)
	}
	return nil
}

// answer lets the process go on that asked, if it did. A process that is gone needs none.
func (p *process) answer(ask uint64, a answer) {
	if a.To = ask; ask > 0 {
		_ = p.order(order{Answer: &a})
	}
}

// way makes the way that the process asks for.
func (p *process) way(ctx context.Context, to dialling) answer {
	if to.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(to.Within))
		defer cancel()
	}
	addr, err := p.drive.way(ctx, p.index, to.Addr)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Addr: addr}
}

func (p *process) returned(op history.Operation) {
	for i := len(p.under) - 1; i >= 0; i-- {
		if p.under[i].Op == op.Op && p.under[i].Call == op.Call {
			p.under = append(p.under[:i], p.under[i+1:]...)
			break
		}
	}
	p.rec.Add(op)
}

// stopped deals with a process that has announced a fault of its own: a stop is seen, measured and ended; a death is left to
// finish.
func (p *process) stopped(ctx context.Context, s stopping) {
	d := p.drive
	w := history.Window{Fault: s.Spec.Fault, Client: workloads.ClientName(p.index), Node: -1, Start: d.timeline(), Moment: s.Moment}
	if s.Spec.Fault == faults.CrashClient {
		w.Confirmed = p.awaitDeath()
		d.windows.Add(w)
		return
	}
	p.work.Go(func() {
		w.Confirmed = awaitState(p.cmd.Process.Pid, stateStopped, stateLimit)
		d.director.Wait(ctx, p.index, s.Spec)
		w.End = d.timeline()
		w.Confirmed = resume(p.cmd.Process) == nil && w.Confirmed
		d.windows.Add(w)
	})
}

// stateLimit bounds the wait for a process to be seen stopped or dead.
const stateLimit = 5 * time.Second

func (p *process) awaitDeath() bool { return awaitState(p.cmd.Process.Pid, stateDead, stateLimit) }

// finish waits for the process and records what was under way when it died.
func (p *process) finish() error {
	err := p.cmd.Wait()
	died := p.drive.timeline()
	for _, op := range p.under {
		op.Return = died
		if op.Op != history.Use {
			op.Outcome = history.Unknown
		}
		p.rec.Add(op)
	}
	if killed(err) || p.told {
		return nil
	}
	if err != nil {
		return fmt.Errorf("client process c%d: %w", p.index+1, err)
	}
	return nil
}
