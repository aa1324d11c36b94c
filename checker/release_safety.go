package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// releaseSafety: a release ends no hold but the releaser's own.
//
// Without commands: a release that is accepted although, from its call to its return, another client believed that it held, by a grant
// that came after the releaser's own belief had ended. The lock cannot then have been the releaser's any more, so the release either ended the
// other's hold or was accepted for nothing. The nodes of a deployment may disagree during a failover or
// partition, so releases that meet one are not judged without commands.
//
// With commands the question is put to the request that removed something, and to the node that answered: a DEL that removed a key, or a
// script within an accepted release that answered that it did, sent and answered while another client held by a later grant that it was
// given on the same node. A compare-and-delete never does that: the key holds the other's token. A plain DEL of a key that
// another client's shared hold had written ends that hold, whosever grant is later.
//
// Opportunities are releases that were accepted.
//
// Limits: a release without a reply is not judged, because nobody knows when it took effect; what it destroys shows as a violation of
// mutual exclusion. Semaphores of several permits are not judged. Extends of others' holds are a matter of renewal.
type releaseSafety struct {
	tally
	d      *docket
	grants map[uint32]*record // last grant of each client
	recent []interval         // beliefs that started last, of any client
}

// maxRecent is how many beliefs are looked at: more cannot have started within one release of a lock that excludes.
const maxRecent = 64

func newReleaseSafety(d *docket) *releaseSafety {
	s := &releaseSafety{tally: tally{property: history.ReleaseSafety, applies: true}, d: d, grants: map[uint32]*record{}}
	if d.a.header.Kind == history.Semaphore && d.a.header.Permits > 1 {
		s.applies, s.note = false, "a semaphore of several permits has many holders"
	}
	return s
}

func (s *releaseSafety) called(*record) {}

func (s *releaseSafety) returned(r *record) {
	switch {
	case !s.applies:
	case r.granted() && s.d.k.detailOf(r).role == starts:
		s.grants[r.client] = r
		s.believe(interval{r, r.ret, s.d.k.detailOf(r).end})
	case r.op == history.Release && r.outcome == history.OK:
		s.opportunity(s.d, r.call, r.ret)
		if victim := s.victim(r); victim != nil && s.d.rules.on("mis-unlock") {
			v := Violation{At: r.call, Clients: []string{s.d.clientName(victim), s.d.clientName(r)}}
			s.found(s.d, v, func() []history.Operation { return s.both(victim, r) })
		}
	}
}

func (s *releaseSafety) believe(i interval) {
	if len(s.recent) == maxRecent {
		least := slices.IndexFunc(s.recent, func(o interval) bool { return o.end <= i.r.call })
		s.recent = slices.Delete(s.recent, max(least, 0), max(least, 0)+1)
	}
	s.recent = append(s.recent, i)
}

// both gives the holds of the victim and of the releaser, and the release.
func (s *releaseSafety) both(victim, r *record) []history.Operation {
	out := s.d.episode(victim)
	if own := s.grants[r.client]; own != nil {
		out = append(out, s.d.episode(own)...)
	}
	return distinct(append(out, s.d.operation(r)))
}

// victim gives the grant whose hold release r ended, nil if it ended none.
func (s *releaseSafety) victim(r *record) *record {
	if s.alone(r) {
		return nil
	}
	client := s.d.clientName(r)
	if len(s.d.ev.commands[client]) == 0 {
		if s.d.ev.split(r.call, r.ret) {
			return nil
		}
		return s.holder(r, r.call, r.ret, nil)
	}
	for _, c := range s.d.ev.commandsOf(client, r.call, r.ret) {
		next := c.Sent == r.ret && c.Sent > r.call // sent by the call that came at the same instant
		if next || !removed(c) {
			continue
		}
		if victim := s.holder(r, c.Sent, c.Replied, &c); victim != nil {
			return victim
		}
		if victim := s.reader(r, &c); victim != nil {
			return victim
		}
	}
	return nil
}

// alone tells quickly that nobody else can have held during r.
func (s *releaseSafety) alone(r *record) bool {
	return !slices.ContainsFunc(s.recent, func(i interval) bool {
		return i.r.client != r.client && i.start <= r.ret && i.end > r.call
	})
}

// holder gives the grant of another client by which it held, from one instant to another, and which came after r's client had
// ceased to. Where both believe at once the lock has two holders, and who may release is not the question.
func (s *releaseSafety) holder(r *record, from, to int64, c *history.Command) *record {
	own := s.grants[r.client]
	if own == nil {
		return nil
	}
	for _, i := range s.recent {
		conflict := own.mode == history.Exclusive || i.r.mode == history.Exclusive
		later := i.start >= s.d.k.detailOf(own).end && i.start > own.ret
		if conflict && later && i.r.client != r.client && i.start < from && i.end >= to && s.sameNode(i.r, c) {
			return i.r
		}
	}
	return nil
}

// sameNode tells whether the grant was given on the node that command c went to, by a command on a key that c names: of a lock that is several
// keys, one that the next holder has not taken yet is still the last one's to remove.
func (s *releaseSafety) sameNode(grant *record, c *history.Command) bool {
	if c == nil {
		return true
	}
	nodes, here, sameKey, plain := map[int]bool{}, false, false, false
	for _, g := range s.d.ev.commandsOf(s.d.clientName(grant), grant.call, grant.ret) {
		if names(g, s.d.k.name) {
			nodes[g.Node] = true
			if g.Node == c.Node && (!scripted(g.Name) || !plain) { // beside plain commands, scripts only give back
				plain = !scripted(g.Name)
				here = (g.Reply == "OK" || positive(g.Reply)) || here && !plain
			}
			sameKey = sameKey || g.Node == c.Node && share(redisKeys(&g), redisKeys(c))
		}
	}
	return sameKey && (here || len(nodes) == 1)
}

// reader gives a shared hold of another client that had written a key which the plain command c removed.
func (s *releaseSafety) reader(r *record, c *history.Command) *record {
	if scripted(c.Name) {
		return nil
	}
	for _, i := range s.recent {
		if i.r.client == r.client || i.r.mode != history.Shared || i.start > c.Sent || i.end < c.Replied {
			continue
		}
		for _, g := range s.d.ev.commandsOf(s.d.clientName(i.r), i.r.call, i.r.ret) {
			if wrote(g) && g.Node == c.Node && slices.Contains(c.Args, g.Args[0]) {
				return i.r
			}
		}
	}
	return nil
}

// removed tells a command that says it removed something.
func removed(c history.Command) bool {
	switch c.Name {
	case "DEL", "UNLINK", "DELEX", "DELIFEQ", "EVAL", "EVALSHA":
		return c.Replied != 0 && positive(c.Reply)
	}
	return false
}

func scripted(name string) bool { return name == "EVAL" || name == "EVALSHA" }

// wrote tells a plain command that wrote its first argument.
func wrote(c history.Command) bool {
	switch c.Name {
	case "SET", "SETNX", "GETSET", "HSET", "HSETNX", "HINCRBY", "SADD", "ZADD", "INCR":
		return len(c.Args) > 0 && (c.Reply == "OK" || positive(c.Reply))
	}
	return false
}

// split tells whether the nodes may have disagreed at some time up to to.
func (e *evidence) split(from, to int64) bool {
	return slices.ContainsFunc(e.faults, func(w history.Window) bool {
		return w.Start <= to && (w.Fault == faultFailover || w.Fault == faultPartition && w.Last() >= from)
	})
}

func (s *releaseSafety) done() {}
