package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/workloads"
)

// A client whose lock is a child process has its workload, its clock and the guarded store in this
// process; the lock's calls go through the child's pipe. The child dials the proxy, which records
// its commands and applies its network faults. A stall stops both halves, and a crash kills both.

// child is the process of one client, with the wire that the proxy watches.
type child struct {
	*subject.Child
	wire atomic.Pointer[inject.Wire] // between the proxy and the nodes; set before the child is given addresses

	single bool // one node at a time grants

	mu   sync.Mutex    // guards sent
	sent map[int]int64 // when the last request that writes left for each node
}

type childProcesses []*child

// sameClock is the clock error of processes on this machine: several times what two readings of its
// clock differ by.
const sameClock = 10 * time.Microsecond

// echoes is the number of round trips to a child that are measured before the run.
const echoes = 32

// startChildren starts the children and measures the clock error: their calls are timed here, a
// round trip off. The caller closes them in any case.
func (e Experiment) startChildren(ctx context.Context) (all childProcesses, clockError int64, err error) {
	all = make(childProcesses, e.Scenario.Clients)
	group, starting := errgroup.WithContext(ctx)
	for i := range all {
		all[i] = &child{sent: map[int]int64{}, single: e.topology() == impls.Sentinel}
		group.Go(func() error { return e.startChild(starting, all[i], i) })
	}
	if err := group.Wait(); err != nil {
		return all, 0, err
	}
	if e.As == Processes {
		return all, int64(sameClock), nil
	}
	for _, c := range all { // one after the other: a child would disturb another's measurement
		way, err := c.Echo(ctx, echoes)
		if err != nil {
			return all, 0, err
		}
		clockError = max(clockError, int64(way))
	}
	return all, clockError, nil
}

func (e Experiment) startChild(ctx context.Context, c *child, index int) (err error) {
	c.Child, err = subject.Start(ctx, e.Subject.Command(index), subject.Options{Client: workloads.ClientName(index)})
	if err == nil {
		c.SameClock = e.As == Processes
	}
	return err
}

func (all childProcesses) close() error {
	var group sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		if c != nil && c.Child != nil {
			group.Go(func() { errs[i] = c.Close() })
		}
	}
	group.Wait()
	return errors.Join(errs...)
}

// watchChild records the commands of a client's child and applies the faults placed at them, as own
// does for the client's own commands.
func (d *serverDriver) watchChild(c *child, own *inject.Wire, rec *clientRecord) {
	c.wire.Store(&inject.Wire{Gate: own.Gate, Client: own.Client, Plan: own.Plan, Watch: own.Watch, Timeline: own.Timeline, Names: own.Names,
		Source: own.Source, Scripts: own.Scripts, First: own.First | childConnections, Dial: d.servers.dial, Node: own.Node,
		Done: func(cmd history.Command) {
			rec.AddCommand(cmd)
			if cmd.Replied == 0 || !resp.IsWrite(cmd.Name) {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.single {
				clear(c.sent)
			}
			c.sent[cmd.Node] = cmd.Sent // it may have been granted
		}})
}

// childConnections separates the numbers of a child's connections from those of its client to the
// guarded store.
const childConnections = 1 << 31

// childBody is what faults act on of a client that has a child.
type childBody struct {
	*inject.Goroutine
	child *subject.Child
}

// Pause stops both halves of the client.
func (b childBody) Pause(ctx context.Context) (faults.Undo, error) {
	resume, err := b.Goroutine.Pause(ctx)
	if err != nil {
		return nil, err
	}
	if !b.child.Stop() {
		err = errors.New("it is not confirmed that the child stopped")
	}
	return func(ctx context.Context) error {
		gone := b.child.Continue()
		if errors.Is(gone, os.ErrProcessDone) { // it was killed while it was stopped
			gone = nil
		}
		return errors.Join(gone, resume(ctx))
	}, err
}

// Crash kills both halves of the client.
func (b childBody) Crash(ctx context.Context) error {
	if !b.child.Kill() {
		return errors.Join(errors.New("it is not confirmed that the child died"), b.Goroutine.Crash(ctx))
	}
	return b.Goroutine.Crash(ctx)
}

// throughChild returns what opens handles in the client's child.
func (d *serverDriver) throughChild(ctx context.Context, c *child, index int, gate *inject.Goroutine) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) {
		// its links to the nodes; to the sentinels, if it knows these, or else to the balancer
		from, to := 0, len(env.Addrs)
		if d.servers.lock.Sentinels() != nil {
			from, to = d.servers.lock.Len(), d.servers.links()-1
			if !d.Subject.About.Has(subject.CanSentinel) {
				from, to, env.Master = to, to+1, ""
			}
		}
		env.Addrs = nil
		for link := from; link < to; link++ {
			env.Addrs = append(env.Addrs, d.routes[index][link].Addr())
		}
		c.Skew = d.director.Standing(index + 1).Skew
		lock, err := c.Open(ctx, env)
		return &childLock{Lock: lock, child: c, gate: gate, env: env, timeline: d.timeline}, err
	}
}

// childLock is a child's handle as its client sees it: calls do not return while the client is
// stopped or dead.
type childLock struct {
	impls.Lock
	child    *child
	gate     *inject.Goroutine
	env      impls.Env
	timeline func() int64
}

func (l *childLock) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	g, err := l.Lock.Try(ctx, mode)
	return g, l.answer(err)
}

// Acquire waits for the lock. If a foreign child does not say when the granted attempt began, its
// last writing request to the first of its nodes counts.
func (l *childLock) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	g, err := l.Lock.Acquire(ctx, mode)
	if err == nil && g.Asked.IsZero() && g.ValidUntil.IsZero() && !l.child.SameClock {
		l.child.mu.Lock()
		sent := slices.Collect(maps.Values(l.child.sent))
		l.child.mu.Unlock()
		if len(sent) > 0 { // not later than that request, whatever passes between two readings of the clocks
			now := l.env.Clock.Now()
			g.Asked = now.Add(-time.Duration(l.timeline() - slices.Min(sent)))
		}
	}
	return g, l.answer(err)
}

func (l *childLock) Extend(ctx context.Context) (impls.Grant, error) {
	g, err := l.Lock.Extend(ctx)
	return g, l.answer(err)
}

func (l *childLock) Release(ctx context.Context) error { return l.answer(l.Lock.Release(ctx)) }

// answer holds the client at its gate, and crashes a client whose child has ended.
func (l *childLock) answer(err error) error {
	if gate := l.gate.Pass(); gate != nil {
		return gate
	}
	if errors.Is(err, subject.ErrGone) || errors.Is(err, subject.ErrProtocol) {
		return fmt.Errorf("%w: %w", impls.ErrCrashed, err)
	}
	return err
}

// validateSubject refuses what an experiment with children does not support.
func (e Experiment) validateSubject() error {
	switch {
	case e.Subject.Exec == "":
		return nil
	case e.topology() == impls.Cluster && !e.Subject.About.Has(subject.CanCluster):
		return fmt.Errorf("%s: %w: the child has no client of a cluster; one that has says so: \"can\": [\"cluster\"]", e.Scenario.Name, ErrNotApplicable)
	case e.has(does(history.SkewsClient)) && e.As != Processes:
		return fmt.Errorf("%s: %w: the clock of a child is its machine's", e.Scenario.Name, ErrNotApplicable)
	case e.has(does(history.CancelsCall)) && !e.Subject.About.Has(subject.CanCancel):
		return fmt.Errorf("%s: %w: the child cannot cancel an acquire", e.Scenario.Name, ErrNotApplicable)
	}
	return nil
}

// BlameChild says that a record which contradicts itself is the fault of the children, if there are
// any: they said what is in it, such as a token that was granted before.
func BlameChild(f subject.Fleet, err error) error {
	if f.Exec != "" && errors.Is(err, checker.ErrAssumption) {
		return fmt.Errorf("%w: %w", subject.ErrProtocol, err)
	}
	return err
}
