package explain

import (
	"slices"

	"github.com/lockbench/lockbench/effects"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
)

// Record is what a run recorded.
type Record struct {
	Header   history.Header
	Ops      []history.Operation // with their ids
	Commands []history.Command   // of the lock; those of a guarded store, whose node is negative, are skipped
	Scripts  map[string]string   // sources by digest
	Faults   []history.Window
	Effects  []history.Executed // what each node executed, in its order; nil: not recorded
}

// run is a record with its indexes.
type run struct {
	Record
	srv    *fakeredis.Server
	asks   *effects.Requests
	ops    map[uint64]*history.Operation
	sent   map[uint64][]*history.Command // by operation, as sent
	nodes  map[int]*node
	holds  []*hold // by grant
	nobody bool    // no acquire of the run was granted

	broken   map[int]int64      // from when on the effects of a node are not known
	releases map[string]bool    // kinds of commands that releases send
	clocks   map[argument]int64 // how far the times in requests are ahead of true time, at most
}

// node is what one node executed, in order.
type node struct {
	index  int
	events []event
	byKey  map[string][]int // the events that changed a key
	byOp   map[uint64][]int
}

// event is a command, the effect of a fault, or the end of a lease at a node, in the node's order.
type event struct {
	*history.Executed
	op  *history.Operation // in which a command was sent; nil: in the background
	cmd *history.Command   // nil: not a recorded command
}

// by returns how many events a node had executed up to an instant.
func (n *node) by(at int64) int {
	i, _ := slices.BinarySearchFunc(n.events, at, func(e event, at int64) int {
		if e.At <= at {
			return -1
		}
		return 1
	})
	return i
}

// value returns a key's value before the i-th event, and the event that left it so; -1: none.
func (n *node) value(key string, i int) (v *history.Datum, by int) {
	changed := n.byKey[key]
	at, _ := slices.BinarySearch(changed, i)
	if at == 0 {
		if len(changed) > 0 { // what was there before the record's first change of it
			return n.change(changed[0], key).Before, -1
		}
		return nil, -1
	}
	by = changed[at-1]
	return n.change(by, key).After, by
}

// change returns what an event did to a key; the key is one that it changed.
func (n *node) change(i int, key string) *history.DataChange {
	all := n.events[i].Changes
	return &all[slices.IndexFunc(all, func(c history.DataChange) bool { return c.Key == key })]
}

// hold is a granted acquire with what became of it, by what its client was told.
type hold struct {
	op      *history.Operation
	extends []*history.Operation
	release *history.Operation // the first; nil: none
	lost    int64              // when its client was told that it had lost it; 0: never
	outer   *hold              // of the same client, within which it re-entered
	granted int64              // at the nodes
}

// argument is a place in a client's requests of one kind.
type argument struct {
	client, kind string
	index        int
}

// query is a request of a try, and where its node executed it.
type query struct {
	cmd   *history.Command
	event *event // nil: it changed nothing, and is not among the effects
	node  *node
	pos   int   // how many events the node had executed before it
	at    int64 // when it executed it, as far as that is known
}
