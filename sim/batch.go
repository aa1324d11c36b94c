package sim

import "slices"

// batch is the requests that goroutines of a client sent over one connection at one instant. Which was written first is the runtime's
// secret: they reach the node in order of content, and their replies are given to the client all at once, in the order in which it wrote.
type batch struct {
	written []*request // handshakes in between included
	replies []*reply   // of these, as far as there are any
}

// together makes a batch of a link's new requests, which are in order of content, if there are several.
func (l *link) together(fresh []*request) {
	first := slices.IndexFunc(l.requests, func(q *request) bool { return slices.Contains(fresh, q) })
	if len(fresh) < 2 || first < 0 {
		return
	}
	b := &batch{written: slices.Clone(l.requests[first:])}
	b.replies = make([]*reply, len(b.written))
	for i, q := range b.written {
		q.batch = b
		if !q.quiet {
			l.requests[first+i], fresh = fresh[0], fresh[1:]
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

// give returns a reply to the client, or what a batch has kept back with it.
func (l *link) give(r *reply) {
	whole := []*reply{r}
	if r.request != nil && r.request.batch != nil {
		whole = r.request.batch.add(r)
	}
	for _, r := range whole {
		l.actor.learn(l.place(), mix(r.asked(), mixText(hashStart, r.bytes)))
		if r.request != nil && !r.request.quiet {
			l.leaveLane(r.request)
			c := &l.actor.commands[r.request.command]
			c.Replied, c.Reply = l.world.timeline(), replyText(r.bytes)
		}
		if l.actor.tokens != nil {
			l.arrive(l.actor.tokens.restore(r.bytes))
			continue
		}
		l.arrive(r.bytes)
	}
}
