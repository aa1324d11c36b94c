package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results/explored"
	"github.com/lockbench/lockbench/workloads"
)

// options lists what could happen next, in an order that depends only on names and contents: requests and replies by client and node, then
// replication. choose adds faults and waiting.
func (w *world) options() []option {
	out := w.possible[:0]
	from := 0
	for i, cn := range w.conns {
		if i > 0 && (cn.client != w.conns[i-1].client || cn.node != w.conns[i-1].node) {
			inOrder(out[from:])
			from = len(out)
		}
		if len(cn.requests) > 0 && w.canReach(cn) && cn.requests[0].free() {
			out = append(out, option{kind: deliverRequest, conn: cn, ready: cn.requests[0].ready})
		}
		if len(cn.replies) > 0 && w.canAnswer(cn) && cn.replies[0].free() {
			out = append(out, option{kind: deliverReply, conn: cn, ready: cn.replies[0].ready})
		}
	}
	inOrder(out[from:])
	if w.replicates() {
		out = append(out, option{kind: replicate, ready: w.replication.ready, nth: w.replication.taken + 1})
	}
	w.possible = out
	return out
}

// reachable reports whether the network connects the two ends of a connection.
func (w *world) reachable(cn *conn) bool {
	return !w.cut[cutKey{cn.client.index, cn.server.index}]
}

// canReach reports whether a request on the connection can be delivered now. Requests of a stopped client left before it stopped.
func (w *world) canReach(cn *conn) bool {
	return cn.lost == nil && !cn.server.paused && !cn.server.down && cn.parked == nil && w.reachable(cn)
}

// canAnswer reports whether a reply on the connection can be delivered now.
func (w *world) canAnswer(cn *conn) bool {
	return cn.lost == nil && !cn.client.paused && w.reachable(cn)
}

// apply performs the chosen option, if it still can: a timer that fired within the last tick may have closed the connection.
func (w *world) apply(o option) {
	w.step++
	switch o.kind {
	case deliverRequest:
		if len(o.conn.requests) == 0 {
			return
		}
		q := takeFirst(&o.conn.requests)
		w.content = q.appendContent(w.content[:0])
		w.event(o.kind, o.conn, w.content, func() string { return "-> " + q.String() })
		w.executeNow(q)
	case deliverReply:
		if len(o.conn.replies) == 0 {
			return
		}
		w.deliver(takeFirst(&o.conn.replies))
	case replicate:
		if !w.replicates() {
			return
		}
		w.event(o.kind, nil, nil, func() string { return "the replica takes over a write" })
		w.note(faults.Step{Kind: faults.StepReplicate})
		w.replicateOne()
	case placeFault:
		name := o.fault.name(event.way)
		w.event(o.kind, nil, []byte(name), func() string { return "!! " + name })
		w.place(o.fault)
	}
}

func (w *world) deliver(r *reply) {
	w.event(deliverReply, r.conn, r.bytes, func() string { return "<- " + r.String() })
	w.noteReply(r, false)
	r.conn.giveReply(r)
}

// affectsNodeOnly reports whether an option is a request that wakes no goroutine, and none wakes by itself before it: no fault strikes at the request
// or at a reply, no sleep ends, no reader gives up, and no client waits by a timer of its own.
func (w *world) affectsNodeOnly(o option) bool {
	if o.kind != deliverRequest || w.bounds.Instant || o.request().doomed || w.noSubscribers > 0 {
		return false
	}
	soon := w.clock().Add(tick)
	due := func(t time.Time) bool { return !t.After(soon) }
	return (w.expiry.IsZero() || !due(w.expiry)) && !slices.ContainsFunc(w.sleeps, due) && !slices.ContainsFunc(w.clients, (*client).mayHaveTimer) &&
		!w.director.Plan().WatchesMessages(0, faults.Answered, faults.Returning)
}

// mayHaveTimer reports whether a client may wait by a timer that the driver does not know: it neither sleeps by its clock nor waits for a reply.
func (c *client) mayHaveTimer() bool {
	return !c.done && !c.paused && c.asleep == 0 &&
		!slices.ContainsFunc(c.world.conns, func(cn *conn) bool { return cn.client == c && cn.inUse > 0 && !cn.shut })
}

// takeFirst removes the first item of a queue and moves the others up: queues are short, and reslicing would allocate for every message.
func takeFirst[T any](queue *[]T) T {
	first := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	return first
}

func (w *world) event(kind optionKind, cn *conn, content []byte, what func() string) {
	number := uint64(0)
	if cn != nil {
		number = cn.number >> 16
	}
	w.trace.event(w.now(), kind, number, content, what)
}

// executeNow runs a request at its node and makes its reply an event, unless a fault affects it.
func (w *world) executeNow(q *request) {
	if q.doomed || w.forbids(q) {
		w.lose(q)
		return
	}
	w.noteRequest(q, false)
	bytes, ok := w.execute(q)
	q.conn.seen = w.replication.writes
	if ok {
		w.answered(q, bytes)
	}
}

// answered makes the reply to a request an event, unless its connection is gone or the reply is lost.
func (w *world) answered(q *request, bytes []byte) {
	cn := q.conn
	if cn.shut || cn.lost != nil || cn.client.crashed {
		return
	}
	r := &reply{conn: cn, request: q, bytes: append([]byte(nil), bytes...)}
	if !w.onReply(r) {
		w.enqueueReply(r)
	}
}

// free reports whether nothing holds the request back.
func (q *request) free() bool {
	return !q.kept && q.conn.world.arrivesBy(q.held) && !(q.withheld && q.conn.client.paused)
}

func (r *reply) free() bool { return !r.kept && r.conn.world.arrivesBy(r.held) }

// arrivesBy reports whether a message that is held until an instant, if any, may arrive.
func (w *world) arrivesBy(held time.Time) bool { return held.IsZero() || !held.After(w.clock()) }

// optionKind is the kind of an option.
type optionKind uint8

const (
	deliverRequest optionKind = iota // a request reaches its node and is executed
	deliverReply                     // a reply reaches its client
	replicate                        // the replica applies what the primary has written
	waitForTime                      // time passes without an arrival
	placeFault                       // a fault
	arranged                         // a timer of the driver is due
	giveUp                           // none: the rest of this schedule is known
)

// option is one thing that could happen next.
type option struct {
	kind  optionKind
	conn  *conn
	fault *placeableFault
	ready int   // the step at which it became possible; the default is the oldest
	rank  int   // among the options of its kind between one client and one node, by content
	held  *Held // its message in a world outside, where an event is named only by its step; nil in the simulator
	nth   int   // number of the write that is replicated; in an event also of a message to a subscriber
}

// event identifies an option as tapes name it: by client, node, command, and the number of that command among the client's to that node. It
// includes neither the time nor the connection: the runtime decides which of a client's goroutines gets which connection of a pool.
type event struct {
	option
	request *request // that is delivered or answered; nil for a message to a subscriber
}

// event returns the option's event, valid until the next step.
func (o option) event() event {
	e := event{option: o}
	if o.conn != nil {
		if e.request = o.request(); e.request == nil {
			e.nth = o.conn.replies[0].nth
		}
	}
	return e
}

// name returns the event's name in tapes, unique within a schedule.
func (e event) name() string {
	switch e.kind {
	case deliverRequest:
		return "request " + e.message()
	case deliverReply:
		return "reply " + e.message()
	case replicate:
		return "replicate#" + strconv.Itoa(e.nth)
	case waitForTime:
		return "wait"
	}
	return e.fault.name(event.message)
}

// message names the request that the event delivers or answers.
func (e event) message() string {
	if e.held != nil {
		return e.way()
	}
	name, nth := "message", e.nth
	if e.request != nil {
		name, nth = e.request.name, e.request.nth()
	}
	return e.conn.String() + " " + name + "#" + strconv.Itoa(nth)
}

// way identifies the message among those of one step, by client, node and rank.
func (e event) way() string {
	where := fmt.Stringer(e.conn)
	if e.held != nil {
		where = e.held
	}
	if e.rank == 0 {
		return where.String()
	}
	return fmt.Sprintf("%s#%d", where, e.rank+1)
}

// nth returns the request's number, from 1, among its client's requests of that name to that node; those of one instant are ordered by content.
func (q *request) nth() int {
	all, n := q.conn.client.commands, 1
	own := all[q.command]
	for i, c := range all {
		if i != q.command && c.Name == own.Name && c.Node == own.Node &&
			cmp.Or(cmp.Compare(c.Sent, own.Sent), slices.Compare(c.Args, own.Args), cmp.Compare(i, q.command)) < 0 {
			n++
		}
	}
	return n
}

// request returns the request that is delivered or answered; nil for a message to a subscriber.
func (o option) request() *request {
	if o.kind == deliverRequest {
		return o.conn.requests[0]
	}
	return o.conn.replies[0].request
}

// byContent compares the contents of two messages of a kind. Messages to subscribers come before replies.
func byContent(a, b option) int {
	q, r := a.request(), b.request()
	switch {
	case q != nil && r != nil:
		return slices.Compare(q.args, r.args)
	case q == nil && r == nil:
		return bytes.Compare(a.conn.replies[0].bytes, b.conn.replies[0].bytes)
	case q == nil:
		return -1
	}
	return 1
}

// inOrder orders the messages between one client and one node by kind and content, and ranks them.
func inOrder(messages []option) {
	if len(messages) < 2 {
		return
	}
	slices.SortStableFunc(messages, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), byContent(a, b), cmp.Compare(a.ready, b.ready))
	})
	for i := 1; i < len(messages); i++ {
		if messages[i].kind == messages[i-1].kind {
			messages[i].rank = messages[i-1].rank + 1
		}
	}
}

// owner returns the owner of the option, for strategies with priorities: the client's index, or a number beyond all clients.
func (o option) owner() int {
	switch {
	case o.held != nil:
		return o.held.Client
	case o.conn != nil:
		return o.conn.client.index
	}
	return maxClients
}

// appendContent appends the content of a request, for the trace.
func (q *request) appendContent(to []byte) []byte {
	to = append(to, q.name...)
	for i, arg := range q.args[1:] {
		if i > 0 {
			to = append(to, 0)
		}
		to = append(to, arg...)
	}
	return to
}

// String describes a request in a trace.
func (q *request) String() string {
	c := commandOf(q)
	return fmt.Sprintf("%s %s %v", q.conn, c.Name, c.Args)
}

// String describes a reply in a trace.
func (r *reply) String() string {
	if r.request == nil {
		return fmt.Sprintf("%s message %s", r.conn, replyText(r.bytes))
	}
	return fmt.Sprintf("%s %s: %s", r.conn, r.request.name, replyText(r.bytes))
}

// Bounds limits what a search may do besides ordering messages.
type Bounds explored.Bounds

const defaultMaxSteps = 2000

// delaysPerLease is how many of the longest delays of a search fit into a lease, unless it says otherwise.
const delaysPerLease = 20

func (b Bounds) withDefaults(p Program) Bounds {
	b.MaxDelay = cmp.Or(b.MaxDelay, p.Config.Lease/delaysPerLease)
	b.MaxSteps = cmp.Or(b.MaxSteps, defaultMaxSteps)
	if len(b.Faults) == 0 {
		b.MaxFaults = 0
	}
	b.Faults = slices.Sorted(slices.Values(b.Faults))
	b.Clients, b.Ops = p.Clients, p.Config.Ops
	return b
}

// moves is what could happen at one step.
type moves struct {
	step    int
	options []option // at least one; requests, replies, replication
	wait    bool     // time may pass instead
	view
}

// view has what a strategy requests only when it needs it.
type view interface {
	faults() []option              // those that may be injected instead; empty when no more are allowed
	state() (hash uint64, ok bool) // of the world; ok is false if it cannot be hashed
	traceHash() uint64             // hash of what has happened so far
}

// chooser picks what happens next.
type chooser interface {
	choose(m moves) option
}

// oldest is the default choice: what has been possible for the longest time, ordered by name among equals.
func oldest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if o.ready < best.ready {
			best = o
		}
	}
	return best
}

// byDefault always takes the oldest.
type byDefault struct{}

func (byDefault) choose(m moves) option { return oldest(m.options) }

// chance is what a strategy does at random besides ordering messages. The steps at which its faults are injected are drawn before the schedule begins,
// over its expected length: drawn step by step, faults would nearly always come early.
type chance struct {
	rand   *rand.Rand
	waits  float64 // chance of letting time pass at a step
	faults []int   // steps at which a fault is injected, in order
}

// choose picks a fault that is due, or lets time pass; false if a message is next.
func (c *chance) choose(m moves) (option, bool) {
	if len(c.faults) > 0 && m.step >= c.faults[0] {
		if possible := m.faults(); len(possible) > 0 {
			c.faults = c.faults[1:]
			return possible[c.rand.IntN(len(possible))], true
		}
	}
	return option{kind: waitForTime}, m.wait && c.rand.Float64() < c.waits
}

// random picks uniformly among the messages.
type random struct {
	chance
	calm float64 // chance of taking the default at a step
}

// newRandom draws a random schedule. length is the expected number of steps.
func newRandom(seed uint64, b Bounds, length int) *random {
	r := rand.New(rand.NewPCG(seed, 1))
	waits := []float64{0, 0, 0.03, 0.15}
	calm := []float64{0, 0.5, 0.9}
	s := &random{chance: chance{rand: r, waits: waits[r.IntN(len(waits))]}, calm: calm[r.IntN(len(calm))]}
	s.faults = faultSteps(r, b, length)
	return s
}

// faultSteps draws the steps at which faults are injected: mostly as many as are allowed.
func faultSteps(r *rand.Rand, b Bounds, length int) []int {
	n := b.MaxFaults
	if n > 0 && r.IntN(4) == 0 {
		n = r.IntN(n)
	}
	steps := make([]int, n)
	for i := range steps {
		steps[i] = r.IntN(max(length, 1))
	}
	slices.Sort(steps)
	return steps
}

func (s *random) choose(m moves) option {
	if o, ok := s.chance.choose(m); ok {
		return o
	}
	if s.rand.Float64() < s.calm {
		return oldest(m.options)
	}
	return m.options[s.rand.IntN(len(m.options))]
}

// pct is probabilistic concurrency testing: every client has a priority, the highest goes first, and at a few steps drawn beforehand the next
// client drops to the lowest priority. It finds a bug that needs d ordering constraints with a probability of at least 1/(n·k^(d-1)) for n clients
// and k steps.
type pct struct {
	chance
	rank    map[int]int // by owner; higher goes first
	lowest  int
	changes []int
}

// depth is the number of ordering constraints that PCT aims at.
const depth = 3

func newPCT(seed uint64, b Bounds, clients, length int) *pct {
	r := rand.New(rand.NewPCG(seed, 2))
	s := &pct{chance: chance{rand: r, waits: []float64{0, 0.05}[r.IntN(2)]}, rank: map[int]int{}}
	s.faults = faultSteps(r, b, length)
	order := r.Perm(clients + 1)
	for i := range clients {
		s.rank[i] = order[i]
	}
	s.rank[maxClients] = order[clients]
	for range depth - 1 {
		s.changes = append(s.changes, r.IntN(max(length, 1)))
	}
	slices.Sort(s.changes)
	return s
}

func (s *pct) choose(m moves) option {
	if o, ok := s.chance.choose(m); ok {
		return o
	}
	best := s.highest(m.options)
	if len(s.changes) > 0 && m.step >= s.changes[0] {
		s.changes = s.changes[1:]
		s.lowest--
		s.rank[best.owner()] = s.lowest
		best = s.highest(m.options)
	}
	return best
}

func (s *pct) highest(options []option) option {
	best := options[0]
	for _, o := range options[1:] {
		if s.rank[o.owner()] > s.rank[best.owner()] || (o.owner() == best.owner() && o.ready < best.ready) {
			best = o
		}
	}
	return best
}

// placeableFault is a fault that a strategy may place now.
type placeableFault struct {
	spec   faults.Spec
	target string // a client or a node; "" for a message, and for the only target
	event  event  // of the message that it affects; zero for other faults
}

// placeable returns the option to place a fault of a target, or of the message that an option delivers.
func placeable(s faults.Spec, target string, of option) option {
	p := &placeableFault{spec: s, target: target}
	if of != (option{}) {
		p.event = of.event()
	}
	return option{kind: placeFault, fault: p}
}

// name makes the name: fault, target, length. Few of the placeable faults need it. message formats the event of a message.
func (p *placeableFault) name(message func(event) string) string {
	words, s := []string{p.spec.Fault}, p.spec
	switch {
	case p.event != (event{}):
		words = append(words, message(p.event))
	case p.target != "":
		words = append(words, p.target)
	}
	switch {
	case s.Until != "":
		words = append(words, "until "+s.Until)
	case s.For.Fixed > 0:
		words = append(words, s.For.Fixed.String())
	case s.By.Fixed > 0:
		words = append(words, s.By.Fixed.String())
	}
	return strings.Join(words, " ")
}

// faults lists the faults that may be placed now, by name of fault, then client, then node; none if the strategy has placed as many as it may.
func (w *world) faults() []option {
	if w.budget == 0 || w.over() {
		return nil
	}
	out := w.placeable[:0]
	add := func(s faults.Spec, target string, of option) { out = append(out, placeable(s, target, of)) }
	long, short := w.program.Config.Lease*3/2, w.program.Config.Lease/10
	for _, fault := range w.bounds.Faults {
		for _, c := range w.clients {
			if !c.done && !c.crashed && !c.paused {
				faultsOfClient(fault, c.index, c.asks(), long, add)
			}
		}
		w.messageFaults(fault, long, add)
		w.nodeFaults(fault, long, short, add)
	}
	w.placeable = out
	return out
}

// place applies a fault that the search has chosen, unless its message is gone by then: a client's timer may end the connection between the choice of a
// fault and its effect.
func (w *world) place(p *placeableFault) {
	var m faults.Message
	if p.event.conn != nil {
		if m = p.event.messageNow(); m == nil {
			return
		}
	}
	w.director.Place(context.Background(), p.spec, faults.BySearch, m)
}

// placer adds the option that placeable returns.
type placer func(s faults.Spec, target string, of option)

// faultsOfClient lists the faults of a live client, by its index; asks says that it has an acquire under way.
func faultsOfClient(fault string, client int, asks bool, long time.Duration, add placer) {
	s, name := faults.Spec{Fault: fault, Client: client + 1}, workloads.ClientName(client)
	switch fault {
	case faults.PauseClient:
		add(lasting(s, long), name, option{})
		add(untilOthers(s), name, option{})
	case faults.CrashClient:
		add(s, name, option{})
	case faults.CancelClient:
		if asks {
			add(s, name, option{})
		}
	case faults.BlackholeClient:
		add(lasting(s, long), name, option{})
	}
}

func lasting(s faults.Spec, d time.Duration) faults.Spec {
	s.For = faults.Span{Fixed: d}
	return s
}

func untilOthers(s faults.Spec) faults.Spec {
	s.Until = faults.OtherEntered
	return s
}

// messageFaults lists the faults of the messages that could be delivered at this step.
func (w *world) messageFaults(fault string, long time.Duration, add placer) {
	for _, o := range w.possible {
		if o.conn != nil {
			faultsOfMessage(fault, o, long, add)
		}
	}
}

// faultsOfMessage lists the faults of one message.
func faultsOfMessage(fault string, o option, long time.Duration, add placer) {
	kind, _ := faults.FindKind(fault)
	if kind.In != faults.InMessage || (o.kind == deliverRequest) != (kind.At == faults.AtRequest) {
		return
	}
	s := faults.Spec{Fault: fault, Client: o.owner() + 1}
	if fault == faults.LoseRequest || fault == faults.LoseReply {
		add(s, "", o)
		return
	}
	add(lasting(s, long), "", o)
	add(untilOthers(s), "", o)
}

// messageNow returns the message that the option delivers, for faults; nil if it is gone.
func (o option) messageNow() faults.Message {
	switch {
	case o.kind == deliverRequest && len(o.conn.requests) > 0:
		return onRequest(o.conn.requests[0], true)
	case o.kind == deliverReply && len(o.conn.replies) > 0:
		return onReply(o.conn.replies[0])
	}
	return nil
}

func (w *world) nodeFaults(fault string, long, short time.Duration, add placer) {
	for i, n := range w.lockNodes() {
		if n.down {
			continue
		}
		s, name := faults.Spec{Fault: fault, Node: i + 1}, nodeName(i)
		switch fault {
		case faults.KillServer:
			add(lasting(s, short), name, option{})
		case faults.PauseServer, faults.PartitionNodes:
			add(lasting(s, long), name, option{})
		case faults.JumpClock:
			s.By = faults.Span{Fixed: 2 * w.program.Config.Lease}
			add(s, name, option{})
		case faults.FlushScripts, faults.DeleteKey, faults.EvictKeys:
			s.Node = w.role(i) + 1
			add(s, name, option{})
		}
	}
	switch {
	case fault == faults.Failover && w.program.Topology == impls.Replicated && !w.replication.stopped:
		add(faults.Spec{Fault: fault}, "", option{})
	case fault == faults.CutPubSub && slices.ContainsFunc(w.conns, func(cn *conn) bool { return cn.server.subs.has(cn) }):
		add(faults.Spec{Fault: fault}, "", option{})
	}
}
