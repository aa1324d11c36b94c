package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/workloads"
)

// ClientVariable is the environment variable that makes the program a client process: main calls ClientMain and exits when
// it is set.
const ClientVariable = "LOCKBENCH_CLIENT"

// ClientMain is the whole of a client process: it reads its job from in, does it, and tells on out. It returns when the job is
// done or in ends.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	var first order
	if err := lines.Decode(&first); err != nil || first.Job == nil {
		return errors.Join(errors.New("client process: the first line is no job"), err)
	}
	c, err := newClientProcess(*first.Job, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go c.listen(lines, cancel) // ends with the process: its input stays open until then
	return c.run(ctx)
}

// clientProcess is the inside of a client process.
type clientProcess struct {
	job      job
	variant  impls.Variant
	workload workloads.Workload
	base     timebase
	out      *teller
	asker    *asker
	body     *inject.Goroutine // whose gate nothing shuts: the run stops the process
	plan     *faults.Plan      // for what is watched; the run's counts
	stop     chan struct{}
}

func newClientProcess(j job, out io.Writer) (*clientProcess, error) {
	base, gap, err := sharedTimebase(j.Base)
	if err != nil {
		return nil, err
	}
	v, ok := catalogue.Find(j.Variant)
	w, known := workloads.Find(j.Workload)
	if !ok || !known {
		return nil, fmt.Errorf("client process: lock %q or workload %q is not known", j.Variant, j.Workload)
	}
	v.Topology = j.Topology
	c := &clientProcess{job: j, variant: v, workload: w, base: base, stop: make(chan struct{}), body: inject.NewGoroutine(),
		plan: faults.NewPlan(j.Faults, time.Duration(j.LeaseNS), v.Traits.NilGrants)}
	c.out = &teller{out: json.NewEncoder(out), now: base.now}
	c.asker = newAsker(c.out.tell)
	c.out.tell(news{ClockGap: gap})
	return c, nil
}

// listen takes orders until the input ends, which is the end of the client.
func (c *clientProcess) listen(lines *json.Decoder, end context.CancelFunc) {
	defer end()
	defer close(c.asker.gone)
	for stopped := false; ; {
		var o order
		if lines.Decode(&o) != nil {
			return
		}
		if o.Answer != nil {
			c.asker.answered(*o.Answer)
		}
		if o.Cancel {
			_ = c.body.Cancel(context.Background()) // of an acquire that has returned meanwhile, nothing is left to be cancelled
		}
		if o.Stop && !stopped {
			stopped = true
			close(c.stop)
		}
	}
}

func (c *clientProcess) run(ctx context.Context) error {
	client, end := c.connect(ctx)
	err := c.workload.Run(ctx, client)
	err = errors.Join(err, end())
	if err != nil {
		c.out.tell(news{Failed: err.Error(), Lacks: errors.Is(err, impls.ErrUnsupported)})
	}
	c.out.tell(news{Done: true})
	return err
}

func (c *clientProcess) connect(ctx context.Context) (*workloads.Client, func() error) {
	j, number := c.job, c.job.Index+1
	wire := &inject.Wire{Gate: c.body.Gate, Client: number, Done: func(cmd history.Command) { c.out.tell(news{Command: &cmd}) },
		Timeline: c.base.now, Names: scriptNames(), Dial: c.dial, Node: c.node,
		Source: func(s history.Script) { c.out.tell(news{Script: &s}) }, First: firstConnection(j.Index)}
	if c.plan.WatchesMessages(number, faults.Leaving, faults.Returning) {
		wire.Operation = func(toStore bool) faults.Operation { return c.plan.Operation(number, toStore) }
		wire.Watch = func(e faults.Event) error { return c.event(ctx, e, c.plan.Watches(e)) }
	}
	access := workloads.Access{
		Addrs: j.Addrs, StoreAddr: storeAddr, Dial: wire.Open, Clock: c.body.Clock(time.Duration(j.SkewNS)), Timeline: c.base.now,
		Record: c.out, Seed: clientSeed(j.Seed, j.Index), Timeout: replyTimeout(time.Duration(j.LeaseNS)),
		At: func(_ context.Context, m history.Moment, _ string) error { return c.moment(ctx, m) },
	}
	client, end := workloads.Connect(access, workloads.Setup{
		Variant: c.variant, Config: j.Config, Index: j.Index, Clients: j.Clients, Owner: j.Owner, Prefix: j.Prefix,
		Poll: time.Duration(j.PollNS), Permits: j.Permits,
	})
	client.Stop, client.Pace, client.Observe = c.stop, workloads.ConstantPace(j.Rate, j.Clients, j.Index), c.out.observe
	client.Scope = c.body.Scope
	return client, end
}

// moment tells the run of a moment. The client goes on when the run has heard of it, where a fault is placed there or where the run's own
// side of the network depends on it. ctx is the process's: a cancelled call has its moments, too.
func (c *clientProcess) moment(ctx context.Context, m history.Moment) error {
	c.plan.Reach(c.job.Index+1, m)
	e := faults.Event{Kind: faults.Moment, Client: c.job.Index + 1, Moment: m}
	if c.job.Wait || c.plan.Watches(e) {
		return c.event(ctx, e, true)
	}
	c.out.tell(news{Event: &e})
	return nil
}

// event has the run do what is placed at an event, if anything may be: it is in force on return. The run counts; this process only knows what
// is not to be asked. Nobody minds an error: the run has ended then.
func (c *clientProcess) event(ctx context.Context, e faults.Event, placed bool) error {
	if placed {
		_, _ = c.asker.ask(ctx, news{Event: &e})
	}
	return nil
}

// dial has the run make the way to what an address means, and goes it.
func (c *clientProcess) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ask := dialling{Addr: addr}
	if deadline, ok := ctx.Deadline(); ok {
		ask.Within = max(int64(time.Until(deadline)), 1)
	}
	way, err := c.asker.ask(ctx, news{Dial: &ask})
	if err == nil && way.Error != "" {
		err = errors.New(way.Error)
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, way.Addr)
}

func (c *clientProcess) node(addr string) int {
	for i, a := range c.job.Addrs {
		if a == addr {
			return i
		}
	}
	return -1
}

// teller writes news.
type teller struct {
	mu  sync.Mutex // one line at a time
	out *json.Encoder
	now func() int64
}

func (t *teller) tell(n news) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.At = t.now()
	_ = t.out.Encode(n) // nobody is left to be told when the pipe is gone; the end of the input ends the process
}

// Begin tells that an operation was called.
func (t *teller) Begin(op history.Operation) { t.tell(news{Begin: &op}) }

// Add tells that an operation has returned.
func (t *teller) Add(op history.Operation) { t.tell(news{Op: &op}) }

func (t *teller) observe(op history.Op, outcome history.Outcome, intended, call, ret int64) {
	t.tell(news{Observed: &observed{op, outcome, intended, call, ret}})
}
