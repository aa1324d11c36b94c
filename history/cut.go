package history

import (
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
)

// Cut is a source of the operations of a truncated record. What a client did after its last
// recorded operation is not known: it may have released its locks, acquired them again and written.
// So Cut appends, for each client and key, operations of unknown outcome: a release for each open
// hold, an acquire and, where the key was written, a write of unknown values, all from the client's
// last return on. A record that is not in the order of returns may have lost more than these stand
// for.
type Cut struct {
	ops     interface{ Next(op *Operation) error }
	written map[string]bool        // keys
	clients map[[2]string]*openEnd // by client and key
	rest    []Operation            // the unknown operations after the record
	over    bool
}

// openEnd is the state of one client and key at the end of the record.
type openEnd struct {
	last  int64       // its last return
	holds []Operation // grants that were neither released nor lost
}

// NewCut returns a source of the truncated record ops.
func NewCut(ops interface{ Next(op *Operation) error }) *Cut {
	return &Cut{ops: ops, clients: map[[2]string]*openEnd{}, written: map[string]bool{}}
}

// Next reads the next operation into op; io.EOF after the last.
func (c *Cut) Next(op *Operation) error {
	if !c.over {
		err := c.ops.Next(op)
		if err == nil {
			c.follow(op)
			return nil
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		c.over, c.rest = true, c.unknown()
	}
	if len(c.rest) == 0 {
		return io.EOF
	}
	*op, c.rest = c.rest[0], c.rest[1:]
	return nil
}

// follow tracks the open holds. A release may come before its grant in the file; then its hold
// stays open, which does no harm.
func (c *Cut) follow(op *Operation) {
	at := [2]string{op.Client, op.Key}
	e := c.clients[at]
	if e == nil {
		e = &openEnd{}
		c.clients[at] = e
	}
	e.last = max(e.last, op.Return)
	c.written[op.Key] = c.written[op.Key] || op.Op == Write
	switch {
	case op.Op == Acquire && op.Outcome == OK:
		e.holds = append(e.holds, *op)
	case op.Op == Release && op.Outcome == OK, op.Op == Lost:
		i := slices.IndexFunc(e.holds, func(h Operation) bool { return op.Token == "" || h.Token == op.Token })
		if i >= 0 {
			e.holds = slices.Delete(e.holds, i, i+1)
		}
	}
}

// unknown returns what each client may have done after the end of the record.
func (c *Cut) unknown() (all []Operation) {
	order := func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }
	for _, at := range slices.SortedFunc(maps.Keys(c.clients), order) {
		e := c.clients[at]
		perhaps := Operation{Client: at[0], Key: at[1], Outcome: Unknown, Call: e.last, Return: e.last}
		for _, h := range e.holds {
			perhaps.Op, perhaps.Mode, perhaps.Token = Release, h.Mode, h.Token
			all = append(all, perhaps)
		}
		perhaps.Op, perhaps.Mode, perhaps.Token = Acquire, Exclusive, ""
		all = append(all, perhaps)
		if c.written[at[1]] {
			perhaps.Op = Write
			all = append(all, perhaps)
		}
	}
	return all
}
