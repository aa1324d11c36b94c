package sim

import (
	"slices"

	"github.com/lockbench/lockbench/faults"
)

// batchRequests makes a batch of a connection's new requests, which are in order of content, if
// there are several.
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

// giveReply delivers a reply to the client, with the replies of its batch once the batch is
// complete.
func (cn *conn) giveReply(r *reply) {
	whole := []*reply{r}
	if r.request != nil && r.request.batch != nil {
		b := r.request.batch
		b.replies[slices.Index(b.written, r.request)] = r
		if slices.Contains(b.replies, nil) {
			return
		}
		whole = b.replies
	}
	for _, r := range whole {
		asked := uint64(0) // hash of the request; none for a message to a subscriber
		if r.request != nil {
			asked = hashArgs(r.request.args)
		}
		cn.client.observe(cn.place(), mix(asked, mixText(hashStart, r.bytes)))
		if r.request != nil && !r.request.handshake {
			if !faults.Subscribes(r.request.name) { // or else it is never idle again
				cn.inUse--
			}
			c := &cn.client.commands[r.request.command]
			c.Replied, c.Reply = cn.world.timeline(), r.request.reply
			if c.Reply == "" {
				c.Reply = replyText(r.bytes)
			}
		}
		if cn.client.tokens != nil {
			cn.arrive(cn.client.tokens.restore(r.bytes))
			continue
		}
		cn.arrive(r.bytes)
	}
}

// arrive passes bytes to the reader.
func (cn *conn) arrive(b []byte) {
	if cn.shut {
		return
	}
	cn.arrived = append(cn.arrived, b...)
	cn.wake()
}

// wake makes a waiting reader check again.
func (cn *conn) wake() {
	if cn.waiting {
		cn.waiting = false
		signal(cn.changed)
	}
}
