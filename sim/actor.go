package sim

import (
	"cmp"
	"context"
	"encoding/binary"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// actor is one client of a world: the goroutine that runs the workload, its clock, its connections and its record. Fields are
// protected by world.mu, except those that are set before the goroutine starts.
type actor struct {
	world  *world
	index  int
	name   string
	skew   time.Duration
	slow   time.Duration      // how long its work in a section takes; 0 means as the workload says
	cancel context.CancelFunc // of its last acquire; nil before the first

	paused  bool
	crashed bool
	frozen  bool // its record is closed
	done    bool
	tokens  *tokens         // nil for a lock whose randomness comes from the seed
	dead    chan struct{}   // closed when the client is
	holds   int             // faults that keep it at its moment
	kept    chan struct{}   // closed when it may go on from there; nil when nothing keeps it
	held    []chan struct{} // of goroutines that wait for the end of a pause, in order of arrival; closed one by one
	reached []*halt         // moments that the driver has not looked at
	err     error           // what the workload returned
	links   int             // dialled so far
	sent    int             // commands sent so far

	open     []history.Operation // begun, not yet added; innermost last
	ops      []history.Operation
	commands []history.Command
	traced   int   // of ops, how many are in the trace
	granted  int   // of its acquires, those that it has not released
	returned int64 // when its last operation did
	burst    int   // commands sent since then, or since time passed

	seen, sum uint64 // hashes of everything the client has been told, and when: up to an event, and at it
	learnt    int    // that event
	order     uint64 // hash of which operations of others had returned when its own were called
}

// access is what the client may touch.
func (a *actor) access() workloads.Access {
	w := a.world
	return workloads.Access{
		Addrs: w.addrs, StoreAddr: nodeAddr(w.storeIndex()), Dial: a.dial, Clock: a, Timeline: w.timeline,
		At: a.at, Record: a, Seed: w.seedOf(a.index), Timeout: w.program.Timeout, Buffer: connBuffer, Pool: w.connPool(),
	}
}

// connBuffer is enough for every request and reply of a lock; a longer one is read in pieces.
const connBuffer = 1 << 10

// connPool is more connections to a node than any lock uses at once. A client that waits for a connection uses a timer that the Redis client
// keeps for the next one who waits, and a timer of one bubble must not be used in another: the program would end. A lock on several masters
// leaves a request behind on each that does not answer, in every round, and goes on.
func (w *world) connPool() int {
	if w.program.Topology == impls.Independent {
		return 1024
	}
	return 64
}

// stack is what a client's goroutine needs of it, in bytes. A goroutine starts with little and copies its stack whenever that is not
// enough; thousands of clients a second would do so three times each.
const stack = 12 << 10

// grow makes room on the stack at once.
//
//go:noinline
func grow() byte {
	var room [stack]byte
	return room[len(os.Args)%stack] // an index that is not known keeps the array
}

// run is the client's goroutine.
func (a *actor) run(ctx context.Context) {
	grow()
	c, closeClient := workloads.Connect(a.access(), a.world.setup(a.index))
	c.Stop, c.Scope = a.world.stop, a.scope
	err := a.world.program.Workload.Run(ctx, c)
	if e := closeClient(); err == nil && !a.crashed {
		err = e
	}
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	a.done, a.err = true, err
	a.world.director.Left(a.index + 1)
	a.world.active()
}

var _ workloads.Recorder = (*actor)(nil)

// Begin notes an operation that was called.
func (a *actor) Begin(op history.Operation) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	if a.frozen {
		return
	}
	a.open = append(a.open, op)
}

// Add records an operation that has returned.
func (a *actor) Add(op history.Operation) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	for i := len(a.open) - 1; i >= 0; i-- {
		if a.open[i].Op == op.Op && a.open[i].Call == op.Call {
			a.open = append(a.open[:i], a.open[i+1:]...)
			break
		}
	}
	a.record(op)
}

// record adds an operation; its number is given when it is traced.
func (a *actor) record(op history.Operation) {
	if a.frozen {
		return
	}
	op.Client = a.name
	switch {
	case op.Op == history.Acquire && op.Outcome == history.OK:
		a.granted++
	case op.Op == history.Release && !a.mayStillHold(op):
		a.granted = max(a.granted-1, 0)
	}
	if op.Op != history.Extend {
		a.returned, a.burst = op.Return, 0
	}
	if a.world.bounds.Instant {
		a.order = mix(a.order, a.before(op))
	}
	a.ops = append(a.ops, op)
}

// mayStillHold reports whether a release may have left a hold that is the client's to keep alive: a failed one of a re-entrant lock may have been an
// inner one, which the server still counts. Of others a renewal after the release counts for nobody, whatever became of it.
func (a *actor) mayStillHold(op history.Operation) bool {
	return a.world.program.Variant.Kind == history.Reentrant && (op.Outcome == history.Fail || op.Outcome == history.Unknown)
}

// dial opens a connection to a node. Like a [net.Dialer] it makes none, and does not wait, under a context that has ended: who dials under
// a mutex counts on it, and in a bubble time stands still while anybody waits for a mutex.
func (a *actor) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	i, err := nodeOf(addr)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "sim", Err: err}
	}
	for {
		l, wait, err := a.connect(i)
		if l != nil || err != nil {
			if err != nil {
				return nil, &net.OpError{Op: "dial", Net: "sim", Addr: simAddr(addr), Err: err}
			}
			return l, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			time.Sleep(lateness(a.index, i, 0)) // who waits for the context alone comes first
			return nil, &net.OpError{Op: "dial", Net: "sim", Addr: simAddr(addr), Err: ctx.Err()}
		}
	}
}

// connect makes the link, or says why not, or gives a channel that is closed when it is worth trying again.
func (a *actor) connect(node int) (*link, <-chan struct{}, error) {
	w := a.world
	w.mu.Lock()
	defer w.mu.Unlock()
	server := w.serverAt(node)
	switch {
	case a.crashed, w.gone:
		return nil, nil, impls.ErrCrashed
	case w.cut[cutKey{a.index, server.index}]:
		return nil, w.healed, nil
	}
	a.learn(uint64(node), bits(server.down))
	if server.down {
		return nil, nil, syscall.ECONNREFUSED
	}
	l := &link{world: w, actor: a, node: node, server: server, changed: make(chan struct{}, 1)}
	l.session = server.newSession(l)
	w.addLink(l)
	return l, nil, nil
}

// at is a moment that the workload announces: faults placed there strike, and a stopped client waits.
func (a *actor) at(ctx context.Context, m history.Moment, key string) error {
	a.world.reach(a, m)
	if err := a.pass(); err != nil {
		return err
	}
	return ctx.Err()
}

var _ impls.Clock = (*actor)(nil)

// Now is the client's clock: the bubble's, off by the client's skew.
func (a *actor) Now() time.Time { return time.Now().Add(a.skew) }

// Sleep waits in virtual time. Sleeps of different clients never end at the same nanosecond: each ends, a little late, at an instant that
// belongs to the client. A sleep that ends while the client is stopped does not return, and a dead client's ends at once.
func (a *actor) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(a.ownInstant(d))
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-a.dead:
		}
		a.world.mu.Lock()
		a.learn(0, uint64(d))
		a.world.active()
		a.world.mu.Unlock()
	}
	if err := a.pass(); err != nil {
		return err
	}
	return ctx.Err()
}

// Instants repeat their owner after sleepers nanoseconds. It is a prime, so that equal distances do not lead from an instant of a client to
// another of its own, and room for each client to have several: of its goroutines that sleep for different times, too, no two are to wake at once.
const (
	sleepers = 8209
	perOwner = sleepers / maxClients
)

// ownInstant lengthens a sleep of d to the next instant that belongs to the client and to sleeps of d.
func (a *actor) ownInstant(d time.Duration) time.Duration {
	own := time.Duration(uint64(a.index)*perOwner + mix(hashStart, uint64(d))%perOwner)
	end := (a.world.now() + d) % sleepers
	return d + (own-end+sleepers)%sleepers
}

// pass returns nil when the client is not stopped, at once or when it may go on, and impls.ErrCrashed when it is dead.
func (a *actor) pass() error {
	for {
		turn, err := a.queue()
		if turn == nil || err != nil {
			return err
		}
		<-turn
	}
}

// queue returns what a goroutine of a stopped client has to wait for.
func (a *actor) queue() (chan struct{}, error) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	switch {
	case a.crashed:
		return nil, impls.ErrCrashed
	case !a.paused:
		return nil, nil
	}
	turn := make(chan struct{})
	a.held = append(a.held, turn)
	return turn, nil
}

// die ends whatever the client waits for.
func (a *actor) die() {
	if !a.crashed {
		close(a.dead)
	}
	a.crashed, a.paused = true, false
	a.goOn()
	for _, turn := range a.held {
		close(turn)
	}
	a.held = nil
	for _, l := range a.world.links {
		if l.actor == a {
			l.wake()
		}
	}
}

// seedOf makes the seed of one client from the program's.
func (w *world) seedOf(index int) (seed [32]byte) {
	binary.LittleEndian.PutUint64(seed[:], w.program.Seed)
	binary.LittleEndian.PutUint64(seed[8:], uint64(index)+1)
	return seed
}

// setup is what all clients have in common, and one's place.
func (w *world) setup(index int) workloads.Setup {
	p, v := w.program, w.program.Variant
	v.Topology = p.Topology // on a cluster clients are the cluster's, whatever the lock is made for
	p.Config.Slow = w.actors[index].slow
	return workloads.Setup{
		Variant: v, Config: p.Config, Index: index, Clients: p.Clients, Owner: w.owner, Prefix: keyPrefix,
		Poll: p.Poll, Permits: p.Permits,
	}
}

// keyPrefix begins every key of a simulated run.
const keyPrefix = "lb:"
