package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Record is what a run recorded.
type Record struct {
	Header   history.Header
	Ops      []history.Operation // with their ids
	Commands []history.Command   // of the lock; those of a guarded store, whose node is negative, are skipped
	Scripts  map[string]string   // sources by digest
	Faults   []history.Window
	Effects  []history.Executed // what changed data at the nodes, each node's in its order; nil: not known
}

// run is a record with the order in which each node executed its commands.
type run struct {
	Record
	m       *machine
	asks    *requests
	ops     map[uint64]*history.Operation
	holds   []checker.Hold           // by start
	holdOf  map[uint64]*checker.Hold // by operation
	nodes   []*node                  // by index
	seen    replies
	votes   int                           // places (nodes or keys) at which an acquire requests a vote; 1 without votes
	keyed   bool                          // keys of one node are places of their own
	polled  map[shape]bool                // the commands that request a vote
	undone  map[shape]bool                // the commands that take one back: those that releases send
	senders map[uint64]bool               // operations that sent a command to a node
	unseen  map[uint64][]*history.Command // by operation: commands without a recorded reply
	tried   map[uint64][]*attempt         // by operation, as far as they were needed
	known   map[experiment]bool           // whether the attempt was granted
	inVain  map[tryKey][][]int            // the tries that granted nothing, as far as they were needed
	after   map[string][]int              // what was sent after a reply in a try that was in vain, by request and reply, once it was needed
	clocks  map[string]map[argument]int64 // by client and argument: how far times in requests are ahead of true time, at most
	readAt  map[reading]int64             // when a client first sent a time
	off     map[string]int64              // by client whose clock a fault had set wrong: how far it is ahead
	pairs   map[[3]uint64]Answer
	failed  bool // no commands were recorded
	nobody  bool // no acquire of the run was granted
}

// shape identifies a kind of request: command name and script.
type shape struct{ name, script string }

func shapeOf(c *history.Command) shape {
	name := c.Name
	if c.Script != "" {
		name = "EVAL" // sent by source or by digest
	}
	return shape{name, c.Script}
}

// chronological returns a record with its lines by time: their order in a file decides nothing, except between commands that one connection sent at the
// same instant, if neither their replies nor the node tell. Replies come in the order of the requests, so that one without a reply is the last.
func chronological(rec Record) Record {
	rec.Ops = sorted(rec.Ops, func(a, b history.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return), cmp.Compare(a.Client, b.Client))
	})
	replied := func(c *history.Command) int64 {
		if c.Replied == 0 {
			return math.MaxInt64
		}
		return c.Replied
	}
	rec.Commands = sorted(rec.Commands, func(a, b history.Command) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(replied(&a), replied(&b)), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Conn, b.Conn))
	})
	rec.Faults = sorted(rec.Faults, func(a, b history.Window) int { return cmp.Compare(a.Start, b.Start) })
	return rec
}

// sorted returns a sorted list: a copy, if need be.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	if !slices.IsSortedFunc(list, compare) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, compare)
	}
	return list
}

// newRun finds the order of a record. Once stopped returns true, no command is executed any more, and nothing that is found counts.
func newRun(rec Record, srv Server, stopped func() bool) *run {
	rec = chronological(rec)
	if rec.linksMissing() {
		rec.Commands = slices.Clone(rec.Commands)
		history.LinkCommands(rec.Ops, rec.Commands)
	}
	r := &run{Record: rec, ops: make(map[uint64]*history.Operation, len(rec.Ops)), seen: replies{seen: map[shape]map[answer]tally{}}, pairs: map[[3]uint64]Answer{}, polled: map[shape]bool{}, undone: map[shape]bool{},
		senders: map[uint64]bool{}, unseen: map[uint64][]*history.Command{}}
	r.asks = newRequests(&r.Record)
	r.m = &machine{srv: srv, stopped: stopped, epoch: rec.Header.Epoch, timed: map[form]bool{}}
	for i := range rec.Ops {
		r.ops[rec.Ops[i].ID] = &rec.Ops[i]
	}
	r.findHolds()
	for _, n := range r.indexes() {
		r.nodes = append(r.nodes, r.order(n))
	}
	r.failed, r.votes = len(rec.Commands) == 0, 1
	for i := range r.Commands {
		c := &r.Commands[i]
		r.senders[c.Op] = r.senders[c.Op] || c.Node >= 0
		if c.Replied == 0 && c.Node >= 0 && !c.Failed() {
			r.unseen[c.Op] = append(r.unseen[c.Op], c)
		}
		if op := r.ops[c.Op]; op != nil && op.Op == history.Release {
			r.undone[shapeOf(c)] = true
		}
	}
	r.learn()
	r.tried = map[uint64][]*attempt{} // what learn found decides what is an attempt
	r.known, r.inVain = map[experiment]bool{}, map[tryKey][][]int{}
	r.clocks = r.readClocks()
	r.off = r.wrongClocks()
	return r
}

// linksMissing reports whether a client was granted a lock without a command that is known to be its acquire's, while it sent some in the background: a
// library may ask for the lock in goroutines of its own.
func (r *Record) linksMissing() bool {
	linked, beside := map[uint64]bool{}, map[string][]int64{} // by operation; by client: when it sent commands in the background, ascending
	for i := range r.Commands {
		switch c := &r.Commands[i]; {
		case c.Node < 0:
		case c.Op != 0:
			linked[c.Op] = true
		default:
			beside[c.Client] = append(beside[c.Client], c.Sent)
		}
	}
	return slices.ContainsFunc(r.Ops, func(op history.Operation) bool {
		if op.Op != history.Acquire || op.Outcome != history.OK || linked[op.ID] {
			return false
		}
		at, _ := slices.BinarySearch(beside[op.Client], op.Call)
		return at < len(beside[op.Client]) && beside[op.Client][at] <= op.Return
	})
}

// indexes returns the lock's nodes.
func (r *run) indexes() (nodes []int) {
	seen := map[int]bool{}
	for i := range r.Commands {
		seen[r.Commands[i].Node] = true
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(seen)), func(n int) bool { return n < 0 })
}

// order finds the order in which one node executed its commands.
func (r *run) order(index int) *node {
	n := &node{index: index, byOp: map[uint64][]int{}}
	r.m.load(map[string]*Value{}, clock{})
	o := &orderer{node: n, m: r.m, asks: r.asks, ops: r.ops}
	n.missed = r.neverArrived(index)
	turns := true
	for i := range r.Commands {
		c := &r.Commands[i]
		if c.Node != index || c.Replied == 0 && slices.Contains(n.missed, c) {
			continue
		}
		o.cmds = append(o.cmds, c)
		turns = turns && (c.Turn != 0 || c.Replied == 0)
	}
	o.effects, o.held = r.effects(index), r.heldUp(index)
	o.kept = r.confirmedAt(index, func(_ *history.Window, kind faults.Kind) bool { return kind.Does.Any(history.HoldsReplies) })
	o.dropped = r.confirmedAt(index, func(_ *history.Window, kind faults.Kind) bool { return kind.Does.Any(history.LosesReplies) })
	o.flushes = r.confirmedAt(index, func(w *history.Window, _ faults.Kind) bool { return w.Fault == faults.FlushScripts })
	if turns {
		o.cmds = slices.DeleteFunc(o.cmds, func(c *history.Command) bool { return c.Turn == 0 })
	}
	if n.numbered = turns && len(o.cmds) > 0; n.numbered {
		o.simulated()
	} else {
		o.ordered()
	}
	for i := range n.events {
		if op := n.events[i].op; op != nil {
			n.byOp[op.ID] = append(n.byOp[op.ID], i)
		}
	}
	return n
}

// heldUp returns the commands that faults kept from a node, each with the instant at which it was let go: those sent while the node was stopped or cut off
// from the client and, for a fault that holds one request back, the client's latest when it began.
func (r *run) heldUp(index int) map[*history.Command]int64 {
	until := map[*history.Command]int64{}
	hold := func(c *history.Command, w *history.Window) {
		if c.Replied == 0 || c.Replied >= w.Ending {
			until[c] = max(until[c], w.Ending)
		}
	}
	for _, w := range r.confirmedAt(index, func(w *history.Window, _ faults.Kind) bool { return w.Ending != 0 }) {
		kind, _ := faults.FindKind(w.Fault)
		var met *history.Command
		for i := range r.Commands {
			c := &r.Commands[i]
			switch {
			case c.Node != index || w.Client != "" && w.Client != c.Client:
			case kind.Does.Any(history.HoldsRequests) && kind.In == faults.InMessage && c.Sent <= w.Start && (met == nil || c.Sent >= met.Sent):
				met = c
			case kind.Does.Any(history.HoldsRequests) && kind.In != faults.InMessage && w.Start < c.Sent && c.Sent < w.Ending:
				hold(c, &w)
			}
		}
		if met != nil {
			hold(met, &w)
		}
	}
	return until
}

// neverArrived returns the commands that did not reach a node: for each confirmed fault that lost a request, the client's latest command without a reply,
// and those that it sent later on the same connection, which was cut.
func (r *run) neverArrived(index int) (all []*history.Command) {
	windows := r.confirmedAt(index, func(_ *history.Window, kind faults.Kind) bool { return kind.Does.Any(history.LosesRequests) })
	if len(windows) == 0 {
		return nil
	}
	unanswered := map[string][]*history.Command{} // by client
	for i := range r.Commands {
		if c := &r.Commands[i]; c.Node == index && c.Replied == 0 {
			unanswered[c.Client] = append(unanswered[c.Client], c)
		}
	}
	for _, w := range windows {
		var met *history.Command
		for _, c := range unanswered[w.Client] {
			if c.Sent <= w.Last() && (met == nil || c.Sent > met.Sent) {
				met = c
			}
		}
		for _, c := range unanswered[w.Client] {
			if met != nil && (c == met || c.Conn == met.Conn && c.Conn != 0 && c.Sent >= met.Sent) {
				all = append(all, c)
			}
		}
	}
	return all
}

// confirmed returns the faults of a kind that are known to have had an effect.
func (r *run) confirmed(of func(*history.Window) bool) (out []history.Window) {
	for i := range r.Faults {
		if w := &r.Faults[i]; w.Confirmed && of(w) {
			out = append(out, *w)
		}
	}
	return out
}

// confirmedAt returns those that may have met a node. The kind of a fault that is not known is the zero value.
func (r *run) confirmedAt(index int, of func(*history.Window, faults.Kind) bool) []history.Window {
	return r.confirmed(func(w *history.Window) bool {
		kind, _ := faults.FindKind(w.Fault)
		return (w.Node < 0 || w.Node == index) && of(w, kind)
	})
}

// dated is an effect of a fault. It was seen at At, and happened at some time since from: when the fault began or, of a correction, began to end.
type dated struct {
	*history.Effect
	from    int64
	replica string // as in the fault's window
}

// with reports whether two effects happened at once: a clock that is set right gets a rate and a time. Between two evictions a command may come.
func (d dated) with(o dated) bool {
	return d.from == o.from && d.At-o.At < grain && d.setsClock() && o.setsClock()
}

// setsClock reports whether an effect set a node's clock, or its rate.
func (d dated) setsClock() bool { return d.What == history.ClockSet || d.What == history.ClockRate }

// before reports whether an effect precedes a command whose turn is known.
func (d dated) before(c *history.Command) bool {
	if d.At != c.Ran || !d.Known || d.What == history.Restarted || d.What == history.Promoted {
		return d.At <= c.Ran
	}
	return d.Turn < c.Turn
}

// effects returns what faults did to a node, by time.
func (r *run) effects(index int) (out []dated) {
	for i := range r.Faults {
		w := &r.Faults[i]
		for j := range w.Effects {
			if e := &w.Effects[j]; e.Node == index {
				d := dated{e, min(w.Start, e.At), w.Replica}
				if d.setsClock() && w.Ending != 0 && w.Ending <= e.At { // it set the clock right
					d.from = w.Ending
				}
				out = append(out, d)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b dated) int { return cmp.Compare(a.At, b.At) })
	return out
}

// attempt is the last try of an acquire for one vote: at one node or, if a lock has several keys at a node, for one key.
type attempt struct {
	op     *history.Operation
	node   *node
	events []int // its commands, in order
	grant  int   // the last of them that changed something; -1: none
}

// last returns the attempt's last command.
func (a *attempt) last() int { return a.events[len(a.events)-1] }

// first returns the first command that changed something; if none did, the one that granted, or else the first.
func (a *attempt) first() int {
	for _, i := range a.events {
		if len(a.node.events[i].changes) > 0 {
			return i
		}
	}
	if a.grant >= 0 {
		return a.grant
	}
	return a.events[0]
}

// attempts returns the last attempts of an operation, by node and vote. A command that repeats an earlier one for the same key begins a new attempt.
// Callers must not change them.
func (r *run) attempts(op *history.Operation) []*attempt {
	all, known := r.tried[op.ID]
	if !known {
		all = r.attemptsBy(op, math.MaxInt64)
		if r.tried != nil {
			r.tried[op.ID] = slices.Clip(all)
		}
	}
	return all
}

// attemptsBy returns the last attempts of an operation by an instant.
func (r *run) attemptsBy(op *history.Operation, by int64) (out []*attempt) {
	for _, n := range r.nodes {
		out = append(out, r.byVote(op, n, r.lastTry(op, n, n.by(by)))...)
	}
	return out
}

// key returns the first key in a command's arguments, or else the first that it used.
func (e *event) key() string {
	keys := slices.Concat(resp.Keys(append([]string{e.cmd.Name}, e.cmd.Args...)), e.touched)
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}

// asked is the kind and key of a request.
type asked struct {
	shape
	key string
}

func (e *event) asks() asked { return asked{shapeOf(e.cmd), e.key()} }

// requests returns the commands of an operation that used keys and that the node executed.
func (n *node) requests(op *history.Operation) []int {
	return slices.DeleteFunc(slices.Clone(n.byOp[op.ID]), func(i int) bool {
		return n.events[i].touched == nil || n.events[i].cmd.Failed()
	})
}

// bySending returns the same in the order in which they were sent.
func (n *node) bySending(op *history.Operation) []int {
	sent := n.requests(op)
	slices.SortStableFunc(sent, func(i, j int) int { return cmp.Compare(n.events[i].cmd.Sent, n.events[j].cmd.Sent) })
	return sent
}

// begins returns an operation's first request to a node, even if the server did not know the script or did not reply; nil: none. A request that takes a
// vote back begins nothing: it may be the first if the client could not connect in time to ask for the vote.
func (r *run) begins(op *history.Operation, n *node) (first *event) {
	note := func(e *event) {
		if e.cmd.Node == n.index && (first == nil || e.cmd.Sent < first.cmd.Sent) && e.key() != "" && !(r.votes > 1 && r.undone[shapeOf(e.cmd)]) {
			first = e
		}
	}
	for _, i := range n.byOp[op.ID] {
		note(&n.events[i])
	}
	for _, c := range r.unseen[op.ID] {
		note(&event{cmd: c})
	}
	return first
}

// lastTry returns the commands of the last attempt of an operation at a node before an event: it begins with the same command as the first attempt. It
// returns none if the operation was granted without the node's reply to the last: the one before was refused.
func (r *run) lastTry(op *history.Operation, n *node, end int) (try []int) {
	all := slices.DeleteFunc(n.bySending(op), func(i int) bool { return i >= end })
	var seen []asked
	begins := r.begins(op, n)
	for _, i := range slices.Backward(all) {
		e := &n.events[i]
		if e.cmd.Replied == 0 || e.cmd.Replied > op.Return { // the operation had returned before this reply came
			if len(try) == 0 && op.Outcome == history.OK && begins != nil && e.asks() == begins.asks() {
				return nil
			}
			continue
		}
		if slices.Contains(seen, e.asks()) {
			break
		}
		seen, try = append(seen, e.asks()), append(try, i)
	}
	if len(try) > 0 && begins != nil {
		if at := slices.Index(seen, begins.asks()); at >= 0 {
			try = try[:at+1]
		}
	}
	slices.Sort(try)
	return try
}

// byVote splits a try by key, if it sends the same request for several keys.
func (r *run) byVote(op *history.Operation, n *node, try []int) (out []*attempt) {
	several := slices.ContainsFunc(try, func(i int) bool {
		s := shapeOf(n.events[i].cmd)
		return r.keyed && r.polled[s] && slices.ContainsFunc(try, func(j int) bool { return i != j && s == shapeOf(n.events[j].cmd) })
	})
	byKey := map[string]*attempt{}
	for _, i := range try {
		e, key := &n.events[i], ""
		if several {
			key = e.key()
		}
		a := byKey[key]
		if a == nil {
			a = &attempt{op: op, node: n, grant: -1}
			byKey[key] = a
			out = append(out, a)
		}
		a.events = append(a.events, i)
		if len(e.changes) > 0 {
			a.grant = i
		}
	}
	for _, a := range out {
		if r.votes > 1 && r.undone[shapeOf(n.events[a.last()].cmd)] { // a try that came to nothing
			a.grant = -1
			continue
		}
		if a.grant < 0 && op.Outcome == history.OK { // it wrote the value that was there, or one that expired at once
			a.grant = r.grantedBy(a)
		}
	}
	return out
}

// grantedBy returns the last command of an attempt whose reply was seen in grants; for a lock without votes, the last command; -1: none.
func (r *run) grantedBy(a *attempt) int {
	if r.votes == 1 {
		return a.last()
	}
	for _, i := range slices.Backward(a.events) {
		c := a.node.events[i].cmd
		if r.seen.of(shapeOf(c), c.Reply).granted > 0 {
			return i
		}
	}
	return -1
}

// learn finds how many votes a grant takes, and counts the replies of granted and refused attempts.
func (r *run) learn() {
	var acquires []*history.Operation
	for i := range r.Ops {
		if op := &r.Ops[i]; op.Op == history.Acquire {
			acquires = append(acquires, op)
		}
	}
	r.findPlaces(acquires)
	var vain, like []*event
	for _, op := range acquires {
		no, perhaps := r.learnFrom(op)
		vain, like = append(vain, no...), append(like, perhaps...)
	}
	for _, e := range vain {
		r.seen.add(shapeOf(e.cmd), e.cmd.Reply, false)
	}
	// A command that set the same keys as a grant may have been a late grant, which its client gave up. Without other evidence only the reply of a single
	// value, such as a count, counts as a refusal: an array may have a flag.
	like = slices.DeleteFunc(like, func(e *event) bool {
		refused, known := r.seen.refuse(shapeOf(e.cmd), e.cmd.Reply)
		return !refused && (known || len(answers(e.cmd.Reply)) > 1)
	})
	for _, e := range like {
		r.seen.add(shapeOf(e.cmd), e.cmd.Reply, false)
	}
}

// findPlaces finds where acquires request votes: at several nodes, or for several keys of one node. Keys are places if each acquire that was granted had
// asked for a majority of them at last: a lock that is granted after requests for fewer uses the others for something else.
func (r *run) findPlaces(acquires []*history.Operation) {
	for _, r.keyed = range []bool{true, false} {
		r.votes = 1
		clear(r.polled)
		for _, op := range acquires {
			r.votes = max(r.votes, r.polls(op))
		}
		if !slices.ContainsFunc(acquires, r.askedFew) {
			return
		}
	}
}

// askedFew reports whether an acquire was granted after requests, in its last try, for fewer than a majority of the keys of the only node.
func (r *run) askedFew(op *history.Operation) bool {
	if r.votes == 1 || len(r.nodes) > 1 || op.Outcome != history.OK {
		return false
	}
	n, places := r.nodes[0], map[place]bool{}
	try := r.lastTry(op, n, len(n.events))
	for _, i := range n.requests(op) {
		if e := &n.events[i]; r.polled[shapeOf(e.cmd)] && (slices.Contains(try, i) || e.cmd.Replied == 0 || e.cmd.Replied > op.Return) {
			places[r.place(e)] = true
		}
	}
	return len(places) > 0 && len(places) < r.quorum()
}

// place is where a request asks for a vote: a node, and a key there.
type place struct {
	asked
	node int
}

// place returns where a command asks for a vote.
func (r *run) place(e *event) place {
	p := place{e.asks(), e.cmd.Node}
	if !r.keyed {
		p.key = ""
	}
	return p
}

// polls counts the places to which an operation sent the same request, with as many arguments, and may have been granted it, and records those requests.
func (r *run) polls(op *history.Operation) (most int) {
	type kind struct { // of requests that differ in their places only
		shape
		args int
	}
	places, got := map[kind]map[place]bool{}, map[shape]bool{}
	add := func(e *event) {
		k := kind{shapeOf(e.cmd), len(e.cmd.Args)}
		if places[k] == nil {
			places[k] = map[place]bool{}
		}
		places[k][r.place(e)] = true
	}
	for _, n := range r.nodes {
		for _, i := range n.requests(op) {
			e := &n.events[i]
			s := shapeOf(e.cmd)
			got[s] = got[s] || len(e.changes) > 0 && op.Outcome == history.OK
			add(e)
		}
	}
	for _, c := range r.unseen[op.ID] { // sent without a recorded reply
		add(&event{cmd: c})
	}
	for k, all := range places {
		if n := len(all); got[k.shape] && n > 1 {
			r.polled[k.shape] = true
			most = max(most, n)
		}
	}
	return most
}

// learnFrom counts the replies in the last try of an acquire. It returns the commands of its earlier tries, which failed: in like those that set the same
// keys as a grant, in vain the others.
func (r *run) learnFrom(op *history.Operation) (vain, like []*event) {
	granting := map[*event]bool{} // by command of the last try that read or granted: whether it led to a vote
	final := map[*event]bool{}    // the last commands of these tries
	var grants []*event
	for _, a := range r.attempts(op) {
		for _, i := range a.events {
			e := &a.node.events[i]
			granting[e] = op.Outcome == history.OK && a.grant >= 0 && (i == a.grant || len(e.changes) == 0)
			if granting[e] {
				grants = append(grants, e)
			} else if op.Outcome == history.OK && i < a.grant && len(answers(e.cmd.Reply)) == 1 { // its client went on; an array may mean that it waited
				r.seen.count(shapeOf(e.cmd), answer{text: e.cmd.Reply}, true)
			}
		}
		final[&a.node.events[a.last()]] = true
	}
	for _, n := range r.nodes {
		for _, i := range n.requests(op) {
			e := &n.events[i]
			if e.cmd.Replied == 0 || e.cmd.Replied > op.Return {
				continue
			}
			switch granted, last := granting[e]; {
			case !last && e.setsAsAny(grants):
				like = append(like, e)
			case !last:
				vain = append(vain, e)
			case granted && !final[e]: // its items may mean that the client had to wait
				r.seen.count(shapeOf(e.cmd), answer{text: e.cmd.Reply}, true)
			case granted || op.Outcome == history.Busy: // otherwise unknown
				r.seen.add(shapeOf(e.cmd), e.cmd.Reply, granted)
			}
		}
	}
	return vain, like
}

// setsAsAny reports whether a command set, or created, the same keys, at least one, as one of the given commands of its shape. A grant may also have
// removed the place of its client in a queue, which another had not taken yet.
func (e *event) setsAsAny(others []*event) bool {
	set, made := keysOf(e.changes, true), madeBy(e)
	return len(set) > 0 && slices.ContainsFunc(others, func(o *event) bool {
		return shapeOf(o.cmd) == shapeOf(e.cmd) && (slices.Equal(keysOf(o.changes, true), set) || len(made) > 0 && slices.Equal(madeBy(o), made))
	})
}

// madeBy returns the keys that a command created, in order.
func madeBy(e *event) []string {
	return keysOf(slices.DeleteFunc(slices.Clone(e.changes), func(c change) bool { return !c.made() }), true)
}

// quorum returns how many votes make a grant.
func (r *run) quorum() int { return r.votes/2 + 1 }
