package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
		if e.replica > 1 {
			return fmt.Sprintf("replicate at node %d#%d", e.replica+1, e.nth)
		}
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
	if e.request == nil {
		return e.conn.String() + " message#" + strconv.Itoa(e.nth)
	}
	// Its number, from 1, among its client's requests of that name to that node; those of one
	// instant are ordered by content.
	all, nth := e.conn.client.commands, 1
	own := all[e.request.command]
	for i, c := range all {
		if i != e.request.command && c.Name == own.Name && c.Node == own.Node &&
			cmp.Or(cmp.Compare(c.Sent, own.Sent), slices.Compare(c.Args, own.Args), cmp.Compare(i, e.request.command)) < 0 {
			nth++
		}
	}
	return e.conn.String() + " " + e.request.name + "#" + strconv.Itoa(nth)
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

// request returns the request that is delivered or answered; nil for a message to a subscriber.
func (o option) request() *request {
	if o.kind == deliverRequest {
		return o.conn.requests[0]
	}
	return o.conn.replies[0].request
}

// inOrder orders the messages between one client and one node by kind and content, messages to
// subscribers before replies, and ranks them.
func inOrder(messages []option) {
	if len(messages) < 2 {
		return
	}
	slices.SortStableFunc(messages, func(a, b option) int {
		if a.kind != b.kind {
			return cmp.Compare(a.kind, b.kind)
		}
		content := 0
		switch q, r := a.request(), b.request(); {
		case q != nil && r != nil:
			content = slices.Compare(q.args, r.args)
		case q == nil && r == nil:
			content = bytes.Compare(a.conn.replies[0].bytes, b.conn.replies[0].bytes)
		case q == nil:
			content = -1
		default:
			content = 1
		}
		return cmp.Or(content, cmp.Compare(a.ready, b.ready))
	})
	for i := 1; i < len(messages); i++ {
		if messages[i].kind == messages[i-1].kind {
			messages[i].rank = messages[i-1].rank + 1
		}
	}
}

// owner returns the owner of the option, for strategies with priorities: the client's index, or a
// number beyond all clients.
func (o option) owner() int {
	switch {
	case o.held != nil:
		return o.held.Client - 1
	case o.conn != nil:
		return o.conn.client.index
	}
	return MaxClients
}

// name makes the name: fault, target, length. Few of the placeable faults need it. message formats
// the event of a message.
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

// String identifies a connection by client and node.
func (cn *conn) String() string {
	if cn.node == cn.world.storeIndex() {
		return cn.client.name + "-store"
	}
	return cn.client.name + "-" + nodeName(cn.node)
}
