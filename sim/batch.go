package sim

import (
	"slices"
)

// A client's pool hands out whichever of its idle connections came back last, and that is the runtime's secret when two come back at one
// instant. Idle connections of a client to a node are all the same; so a record does not name the connection but its alias: a connection takes
// the lowest free one when it is used, and leaves it when it is idle again. Commands of one connection that wait for each other are on one alias, and
// the alias of a connection that ended before its replies came is used no more.

// takeAlias returns a request the alias of its connection.
func (cn *conn) takeAlias(q *request) {
	if cn.inUse == 0 {
		cn.alias = cn.nextAlias()
	}
	cn.inUse++
	cn.client.commands[q.command].Conn = cn.place() | uint64(cn.alias)
}

// freeAlias notes that a request has had its reply. A connection that listens to channels is never idle again.
func (cn *conn) freeAlias(q *request) {
	if q.name != "SUBSCRIBE" && q.name != "PSUBSCRIBE" {
		cn.inUse--
	}
}

// nextAlias is the lowest alias between the client and the node that no connection is on.
func (cn *conn) nextAlias() int {
	for alias := 0; ; alias++ {
		taken := false
		for _, o := range cn.world.conns {
			taken = taken || o.place() == cn.place() && o.inUse > 0 && o.alias == alias
		}
		if !taken {
			return alias
		}
	}
}

// place is the number of the connection's client and node.
func (cn *conn) place() uint64 { return cn.number &^ 0xffff }

// batch is the requests that goroutines of a client sent over one connection at one instant. Which was written first is the runtime's
// secret: they reach the node in order of content, and their replies are given to the client all at once, in the order in which it wrote.
type batch struct {
	written []*request // handshakes in between included
	replies []*reply   // of these, as far as there are any
}

// batchRequests makes a batch of a connection's new requests, which are in order of content, if there are several.
func (cn *conn) batchRequests(fresh []*request) {
	first := slices.IndexFunc(cn.requests, func(q *request) bool { return slices.Contains(fresh, q) })
	if len(fresh) < 2 || first < 0 {
		return
	}
	b := &batch{written: slices.Clone(cn.requests[first:])}
	b.replies = make([]*reply, len(b.written))
	for i, q := range b.written {
		q.batch = b
		if !q.handshake {
			cn.requests[first+i], fresh = fresh[0], fresh[1:]
		}
	}
}

// add takes the reply to a request and gives all replies, in order, when it was the last that was missing.
func (b *batch) add(r *reply) []*reply {
	b.replies[slices.Index(b.written, r.request)] = r
	if slices.Contains(b.replies, nil) {
		return nil
	}
	return b.replies
}

// asked is a hash of the request that a reply answers; 0 for a message to a subscriber.
func (r *reply) asked() uint64 {
	if r.request == nil {
		return 0
	}
	return hashArgs(r.request.args)
}

// giveReply returns a reply to the client, or what a batch has kept back with it.
func (cn *conn) giveReply(r *reply) {
	whole := []*reply{r}
	if r.request != nil && r.request.batch != nil {
		whole = r.request.batch.add(r)
	}
	for _, r := range whole {
		cn.client.observe(cn.place(), mix(r.asked(), mixText(hashStart, r.bytes)))
		if r.request != nil && !r.request.handshake {
			cn.freeAlias(r.request)
			c := &cn.client.commands[r.request.command]
			c.Replied, c.Reply = cn.world.timeline(), replyText(r.bytes)
		}
		if cn.client.tokens != nil {
			cn.arrive(cn.client.tokens.restore(r.bytes))
			continue
		}
		cn.arrive(r.bytes)
	}
}
