package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/workloads"
)

// ClientVariable is the environment variable that makes the program a client process: main calls ClientMain and exits if it is set.
const ClientVariable = "LOCKBENCH_CLIENT"

// ClientMain runs a client process: it reads its job from in, does it, and reports on out. It returns when the job is done or in ends.
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

type clientProcess struct {
	job      job
	variant  impls.Variant
	workload workloads.Workload
	base     timebase
	out      reporter
	asks     subprocess.Calls[answer]
	gone     chan struct{}     // closed when no more answers can come
	body     *inject.Goroutine // its gate stays open: the run stops the whole process
	plan     *faults.Plan      // for the triggers to watch; the run counts the matches
	stop     chan struct{}
}

func newClientProcess(j job, out io.Writer) (*clientProcess, error) {
	base, err := sharedTimebase(j.Base)
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
		plan: faults.NewPlan(j.Faults, j.Config.Lease, v.Traits.NilGrants)}
	c.out = reporter{subprocess.NewWriter(out), base.now}
	return c, nil
}

// listen takes instructions until the input ends, which ends the client.
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
			_ = c.body.Cancel(context.Background()) // an acquire that has returned meanwhile needs no cancelling
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
		c.out.report(message{Failed: err.Error(), Lacks: errors.Is(err, impls.ErrUnsupported)})
	}
	c.out.report(message{Done: true})
	return err
}

func (c *clientProcess) connect(ctx context.Context) (*workloads.Client, func() error) {
	j, number := c.job, c.job.Index+1
	wire := &inject.Wire{Gate: c.body.Gate, Client: number, Done: func(cmd history.Command) { c.out.report(message{Command: &cmd}) },
		Timeline: c.base.now, Names: scriptNames(), Dial: dialTold(c.dial, j.Known),
		Node: func(addr string) int {
			if len(j.Known) > 0 && slices.Contains(j.Addrs, addr) {
				return inject.Aside
			}
			return slices.Index(append(slices.Clone(j.Known), j.Addrs...), addr)
		},
		Source: func(s history.Script) { c.out.report(message{Script: &s}) }, Scripts: usedScripts(j.Guest), First: firstConnection(j.Index),
		Plan: c.plan, Watch: func(e faults.Event) error {
			if c.plan.Watches(e) {
				c.meet(ctx, e)
			}
			return nil
		}}
	access := workloads.Access{
		Addrs: j.Addrs, StoreAddr: storeAddr, Dial: wire.Open, Clock: c.body.Clock(j.Skew), Timeline: c.base.now,
		Record: c.out, Seed: workloads.ClientSeed(j.Seed, j.Index), Timeout: replyTimeout(j.Config.Lease),
		At: func(_ context.Context, m history.Moment, _ string) error { c.moment(ctx, m); return nil },
	}
	setup := j.Setup
	setup.Variant = c.variant
	client, end := workloads.Connect(access, setup)
	client.Stop, client.Pace, client.Observe = c.stop, j.Open.Starts(j.Index), c.out.observe
	client.Scope = c.body.Scope
	return client, end
}

// moment reports a moment to the run, and waits if a fault or the network needs that. ctx is the process's: a cancelled call has moments too.
func (c *clientProcess) moment(ctx context.Context, m history.Moment) {
	c.plan.Reach(c.job.Index+1, m)
	e := faults.Event{Kind: faults.Moment, Client: c.job.Index + 1, Moment: m}
	if c.job.Wait || c.plan.Watches(e) {
		c.meet(ctx, e)
	} else {
		c.out.report(message{Event: &e})
	}
}

// meet asks the run to apply what is placed at an event, and returns when that is in force. An error is ignored: the run has ended then.
func (c *clientProcess) meet(ctx context.Context, e faults.Event) {
	_, _ = c.ask(ctx, message{Event: &e})
}

// dial asks the run for the route to an address and connects to it.
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

type reporter struct {
	out *subprocess.Writer
	now func() int64
}

func (t reporter) report(n message) {
	n.At = t.now()
	_ = t.out.Send(n) // if the pipe is gone, the end of the input ends the process
}

func (t reporter) Begin(op history.Operation) { t.report(message{Begin: &op}) }

func (t reporter) Add(op history.Operation) { t.report(message{Op: &op}) }

func (t reporter) observe(op history.Op, outcome history.Outcome, intended, call, ret int64) {
	t.report(message{Observed: &observed{op, outcome, intended, call, ret}})
}

// A client process reads its job on standard input and reports on standard output, a JSON object per line. At the end of its input it ends.

// instruction is a line to a client process. The first has its job.
type instruction struct {
	Job    *job    `json:"job,omitempty"`
	Answer *answer `json:"answer,omitempty"`
	Stop   bool    `json:"stop,omitempty"`   // begin no new round
	Cancel bool    `json:"cancel,omitempty"` // cancel the acquire under way
}

// answer is the run's reply to a message with Ask.
type answer struct {
	To    int64  `json:"to"`              // Ask of the message
	Addr  string `json:"addr,omitempty"`  // of a dial: the address to connect to
	Error string `json:"error,omitempty"` // of a dial: why there is no connection
}

type job struct {
	workloads.Setup
	Variant  string             `json:"Variant"` // the setup's, by name: its functions cannot be sent
	Topology impls.Topology     `json:"topology"`
	Workload string             `json:"workload"`
	Addrs    []string           `json:"addrs"`
	Known    []string           `json:"known,omitempty"` // by which sentinels, whose addresses Addrs has, tell of the nodes
	Seed     uint64             `json:"seed"`
	Skew     time.Duration      `json:"skew,omitempty"`
	Open     workloads.OpenLoop `json:"open,omitzero"`
	Faults   []faults.Spec      `json:"faults,omitempty"`
	Base     int64              `json:"base"`            // the run's base on the machine's monotonic clock
	Wait     bool               `json:"wait,omitempty"`  // at every moment, wait for the run's answer
	Guest    bool               `json:"guest,omitempty"` // the servers are a user's
}

// message is a line from a client process, with one field besides At, the time on the run's base, and Ask. The client waits for the answer to an Ask:
// faults placed at an event are in force by then. Moments are events, and requests and replies that match the trigger of a fault.
type message struct {
	At       int64              `json:"at"`
	Ask      int64              `json:"ask,omitempty"` // counts from 1; 0 = no answer needed
	Dial     *dialRequest       `json:"dial,omitempty"`
	Begin    *history.Operation `json:"begin,omitempty"`
	Op       *history.Operation `json:"op,omitempty"`
	Observed *observed          `json:"observed,omitempty"`
	Command  *history.Command   `json:"command,omitempty"`
	Script   *history.Script    `json:"script,omitempty"` // the source of a script that the client sends
	Event    *faults.Event      `json:"event,omitempty"`  // at which a fault may be placed
	Failed   string             `json:"failed,omitempty"`
	Lacks    bool               `json:"lacks,omitempty"` // with Failed: the server lacks a command that the lock needs
	Done     bool               `json:"done,omitempty"`
}

// dialRequest asks for a route to a node or to the guarded store.
type dialRequest struct {
	Addr   string `json:"addr"`             // see nodeAddr
	Within int64  `json:"within,omitempty"` // nanoseconds until the client's deadline; 0 = none
}

// observed is a latency: the operation, its intended start, its call and its return.
type observed struct {
	Op       history.Op      `json:"op"`
	Outcome  history.Outcome `json:"outcome"`
	Intended int64           `json:"intended"`
	Call     int64           `json:"call"`
	Return   int64           `json:"return"`
}

// errRunGone means that the run has closed its end of the pipe.
var errRunGone = errors.New("the run is gone")

// ask sends a message to the run and waits for the answer. It is safe for concurrent use: a watchdog and its client may be at moments at once.
func (c *clientProcess) ask(ctx context.Context, n message) (answer, error) {
	var reply <-chan answer
	n.Ask, reply = c.asks.Open()
	defer c.asks.Forget(n.Ask)
	c.out.report(n)
	select {
	case got := <-reply:
		return got, nil
	case <-ctx.Done():
		return answer{}, ctx.Err()
	case <-c.gone:
		return answer{}, errRunGone
	}
}
