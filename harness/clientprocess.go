package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/workloads"
)

// ClientVariable is the environment variable that makes the program a client process: main calls ClientMain and exits when
// it is set.
const ClientVariable = "LOCKBENCH_CLIENT"

// ClientMain is the whole of a client process: it reads its job from in, does it, and tells on out. It returns when the job is
// done or in ends.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := subprocess.NewReader(in, 0)
	var first instruction
	if err := lines.Receive(&first); err != nil || first.Job == nil {
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
	out      teller
	asks     subprocess.Calls[answer]
	gone     chan struct{}     // closed when no answer will come any more
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
	c := &clientProcess{job: j, variant: v, workload: w, base: base, stop: make(chan struct{}), gone: make(chan struct{}), body: inject.NewGoroutine(),
		plan: faults.NewPlan(j.Faults, time.Duration(j.LeaseNS), v.Traits.NilGrants)}
	c.out = teller{subprocess.NewWriter(out), base.now}
	c.out.tell(message{ClockGap: gap})
	return c, nil
}

// listen takes orders until the input ends, which is the end of the client.
func (c *clientProcess) listen(lines *subprocess.Reader, end context.CancelFunc) {
	defer end()
	defer close(c.gone)
	for stopped := false; ; {
		var o instruction
		if lines.Receive(&o) != nil {
			return
		}
		if o.Answer != nil {
			c.asks.Answer(o.Answer.To, *o.Answer)
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
		c.out.tell(message{Failed: err.Error(), Lacks: errors.Is(err, impls.ErrUnsupported)})
	}
	c.out.tell(message{Done: true})
	return err
}

func (c *clientProcess) connect(ctx context.Context) (*workloads.Client, func() error) {
	j, number := c.job, c.job.Index+1
	wire := &inject.Wire{Gate: c.body.Gate, Client: number, Done: func(cmd history.Command) { c.out.tell(message{Command: &cmd}) },
		Timeline: c.base.now, Names: scriptNames(), Dial: c.dial, Node: c.node,
		Source: func(s history.Script) { c.out.tell(message{Script: &s}) }, First: firstConnection(j.Index)}
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
	client.Stop, client.Pace, client.Observe = c.stop, j.Open.Starts(j.Index), c.out.observe
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
	c.out.tell(message{Event: &e})
	return nil
}

// event has the run do what is placed at an event, if anything may be: it is in force on return. The run counts; this process only knows what
// is not to be asked. Nobody minds an error: the run has ended then.
func (c *clientProcess) event(ctx context.Context, e faults.Event, placed bool) error {
	if placed {
		_, _ = c.ask(ctx, message{Event: &e})
	}
	return nil
}

// dial has the run make the way to what an address means, and goes it.
func (c *clientProcess) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ask := dialRequest{Addr: addr}
	if deadline, ok := ctx.Deadline(); ok {
		ask.Within = max(int64(time.Until(deadline)), 1)
	}
	way, err := c.ask(ctx, message{Dial: &ask})
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

// teller tells the run what the client does.
type teller struct {
	out *subprocess.Writer
	now func() int64
}

func (t teller) tell(n message) {
	n.At = t.now()
	_ = t.out.Send(n) // nobody is left to be told when the pipe is gone; the end of the input ends the process
}

// Begin tells that an operation was called.
func (t teller) Begin(op history.Operation) { t.tell(message{Begin: &op}) }

// Add tells that an operation has returned.
func (t teller) Add(op history.Operation) { t.tell(message{Op: &op}) }

func (t teller) observe(op history.Op, outcome history.Outcome, intended, call, ret int64) {
	t.tell(message{Observed: &observed{op, outcome, intended, call, ret}})
}

// A client process is told its job on standard input, one JSON object a line, and tells what it does on standard output, likewise.
// The end of its input is its end: it does not outlive the run.

// instruction is a line to a client process. The first is its job.
type instruction struct {
	Job    *job    `json:"job,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	Stop   bool    `json:"stop,omitempty"`   // begin no new round
	Cancel bool    `json:"cancel,omitempty"` // the acquire under way
}

// answer is what the run says to news that the client waits on.
type answer struct {
	To    int64  `json:"to"`              // Ask of the news
	Addr  string `json:"addr,omitempty"`  // of a dial: where to connect
	Error string `json:"error,omitempty"` // of a dial: why there is nothing to connect to
}

// job is everything a client process has to know.
type job struct {
	Variant  string             `json:"variant"`
	Topology impls.Topology     `json:"topology"`
	Workload string             `json:"workload"`
	Config   workloads.Config   `json:"config"`
	Index    int                `json:"index"`
	Clients  int                `json:"clients"`
	Owner    string             `json:"owner,omitempty"`
	Prefix   string             `json:"prefix"`
	PollNS   int64              `json:"poll_ns"`
	Permits  int                `json:"permits"`
	Addrs    []string           `json:"addrs"`
	Seed     uint64             `json:"seed"`
	SkewNS   int64              `json:"skew_ns,omitempty"`
	Open     workloads.OpenLoop `json:"open,omitzero"`
	LeaseNS  int64              `json:"lease_ns"`
	Faults   []faults.Spec      `json:"faults,omitempty"`
	Base     int64              `json:"base"`           // the run's base on the machine's monotonic clock
	Wait     bool               `json:"wait,omitempty"` // at every moment, until the run has heard of it
}

// message is a line from a client process. Exactly one field but At and Ask is set; At is the time on the run's base. The client goes
// on when news with an Ask is answered: what is placed at an event is in force by then. Moments are events; a request or reply is one where the
// trigger of a fault matches it.
type message struct {
	At       int64              `json:"at"`
	Ask      int64              `json:"ask,omitempty"` // counts from 1; 0 = nobody waits
	Dial     *dialRequest       `json:"dial,omitempty"`
	Begin    *history.Operation `json:"begin,omitempty"`
	Op       *history.Operation `json:"op,omitempty"`
	Observed *observed          `json:"observed,omitempty"`
	Command  *history.Command   `json:"command,omitempty"`
	Script   *history.Script    `json:"script,omitempty"` // the source of one that the client sends
	Event    *faults.Event      `json:"event,omitempty"`  // at which a fault may be placed
	ClockGap int64              `json:"clock_gap,omitempty"`
	Failed   string             `json:"failed,omitempty"`
	Lacks    bool               `json:"lacks,omitempty"` // with Failed: the server has not got what the lock needs
	Done     bool               `json:"done,omitempty"`
}

// dialRequest asks for a way to a node or to the guarded store.
type dialRequest struct {
	Addr   string `json:"addr"`             // that means it, see nodeAddr
	Within int64  `json:"within,omitempty"` // nanoseconds that the client has for it; 0 = no limit
}

// observed is a latency: what was done, when it was meant to start, when it was called and when it returned.
type observed struct {
	Op       history.Op      `json:"op"`
	Outcome  history.Outcome `json:"outcome"`
	Intended int64           `json:"intended"`
	Call     int64           `json:"call"`
	Return   int64           `json:"return"`
}

// errRunGone: the run's end of the pipe is closed, and nobody is left to answer.
var errRunGone = errors.New("the run is gone")

// ask tells the run something and waits until it is answered. Several goroutines of the client may ask at once: a lock's watchdog reaches its
// moments while the client is at its own.
func (c *clientProcess) ask(ctx context.Context, n message) (answer, error) {
	var reply <-chan answer
	n.Ask, reply = c.asks.Open()
	defer c.asks.Forget(n.Ask)
	c.out.tell(n)
	select {
	case got := <-reply:
		return got, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-c.gone:
		return answer{}, errRunGone
	}
}
