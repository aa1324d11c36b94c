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
	c := &clientProcess{job: j, variant: v, workload: w, base: base, stop: make(chan struct{})}
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
		if o.Stop && !stopped {
			stopped = true
			close(c.stop)
		}
	}
}

func (c *clientProcess) run(ctx context.Context) error {
	d := faults.NewDirector(time.Duration(c.job.LeaseNS), c.base.now, func(w history.Window) { c.out.window(w) })
	d.NilGrants = c.variant.Traits.NilGrants
	d.Inject, d.Claim = c.inject, c.claim
	d.Enlist(c.job.Index, selfBody{c.out.tell}, c.job.Faults)
	client, end := c.connect(ctx, d)
	during, over := context.WithCancel(ctx)
	defer over()
	go d.Timed(during, c.job.Index) // ends with the process at the latest
	err := c.workload.Run(ctx, client)
	err = errors.Join(err, end())
	if err != nil {
		c.out.tell(news{Failed: err.Error(), Lacks: errors.Is(err, impls.ErrUnsupported)})
	}
	c.out.tell(news{Done: true})
	return err
}

func (c *clientProcess) connect(ctx context.Context, d *faults.Director) (*workloads.Client, func() error) {
	gate, j := faults.NewGate(), c.job
	wire := &faults.Wire{Gate: gate, Tap: d.Tap(ctx, j.Index, func(cmd history.Command) { c.out.tell(news{Command: &cmd}) }),
		Timeline: c.base.now, Names: scriptNames(), Dial: c.dial, Node: c.node}
	access := workloads.Access{
		Addrs: j.Addrs, StoreAddr: storeAddr, Dial: wire.Open, Clock: gate.Clock(time.Duration(j.SkewNS)), Timeline: c.base.now,
		Record: c.out, Seed: clientSeed(j.Seed, j.Index), Timeout: replyTimeout(time.Duration(j.LeaseNS)),
		At: func(at context.Context, m history.Moment, _ string) error {
			if err := c.announce(ctx, m); err != nil {
				return err
			}
			return d.At(at, j.Index, m)
		},
	}
	client, end := workloads.Connect(access, workloads.Setup{
		Variant: c.variant, Config: j.Config, Index: j.Index, Clients: j.Clients, Owner: j.Owner, Prefix: j.Prefix,
		Poll: time.Duration(j.PollNS), Permits: j.Permits, Settings: j.Settings,
	})
	client.Stop, client.Pace, client.Observe = c.stop, pace(j.Rate, j.Clients, j.Index), c.out.observe
	client.Scope = func(ctx context.Context) (context.Context, context.CancelFunc) { return d.Scope(ctx, j.Index) }
	return client, end
}

// announce tells the run of a moment. Where the run's own side depends on it, such as a fault of the network that is placed in an
// operation, the client goes on when the run has heard. ctx is the process's: a cancelled call has its moments, too.
func (c *clientProcess) announce(ctx context.Context, m history.Moment) error {
	if !c.job.Wait {
		c.out.tell(news{Moment: m})
		return nil
	}
	_, err := c.asker.ask(ctx, news{Moment: m})
	return err
}

// inject has a fault of the network or of a server done. It is in force when it returns, unless the run has ended: then nobody minds.
func (c *clientProcess) inject(ctx context.Context, s faults.Spec, where string) {
	if !faults.IsFrameFault(s.Fault) { // those are the proxy's, from the start
		_, _ = c.asker.ask(ctx, news{Inject: &stopping{s, where}})
	}
}

// claim asks the run whether no other client has come to the moment of a fault before.
func (c *clientProcess) claim(ctx context.Context, s faults.Spec) bool {
	got, err := c.asker.ask(ctx, news{Claim: &s})
	return err == nil && got.Yes
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

func (t *teller) window(w history.Window) {
	if w.Fault != faults.PauseClient && w.Fault != faults.CrashClient {
		t.tell(news{Window: &w})
	}
}

// Begin tells that an operation was called.
func (t *teller) Begin(op history.Operation) { t.tell(news{Begin: &op}) }

// Add tells that an operation has returned.
func (t *teller) Add(op history.Operation) { t.tell(news{Op: &op}) }

func (t *teller) observe(op history.Op, outcome history.Outcome, intended, call, ret int64) {
	t.tell(news{Observed: &observed{op, outcome, intended, call, ret}})
}
