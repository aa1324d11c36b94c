package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// releaseSafety: a release or extend that succeeded was the holder's own.
//
// An extend breaks it if its hold cannot have existed. A release breaks it if its hold cannot have existed and a hold with another token, which
// existed throughout the release, is shown to be gone before its lease can have ended: the reply to its next operation is not_held or lost, or a
// conflicting grant comes first. Otherwise the lock was lenient, which is no violation. A hold cannot have existed if its lease had ended by any
// count, or, where one excludes the other, once a later grant to another client has returned.
//
// With commands the same is asked of the request that removed something, and of the node that replied: a DEL that removed a key, or a script within a
// successful release whose reply says that it did, sent and answered while another client held by a later grant given on the same node. A script may
// have removed its own hold's mark, which is there beside the other's: it counts if the other's hold is shown to be gone, and never for a shared hold.
// Where its own lease had not ended, two had been let in at once: then only the reply to the other's next operation shows that.
// A plain DEL of a key that another client's shared hold had written ends that hold, whichever grant is later.
//
// An opportunity is a release or extend that succeeded. Without commands it is not judged if a confirmed fault may have kept or restored the hold: one of
// a node that its commands went to, or, if votes count, of the client, as the nodes may disagree. A fault that began after the lease had ended, and was over
// before the call, found nothing to keep or restore, unless it moved a clock.
//
// Limits: a release without a reply is not judged, because it is unknown when it took effect; what it destroys shows as a violation of mutual
// exclusion. For semaphores of several permits only the end of the lease shows that a hold was gone.
type releaseSafety struct {
	tally
	recent  []interval // the latest beliefs, of any client
	several bool
}

// maxRecent is how many beliefs are examined: no more can start within one release of a lock that excludes.
const maxRecent = 64

func newReleaseSafety(d *keyInput) *releaseSafety {
	n := d.k.count(history.Release, history.OK) + d.k.count(history.Extend, history.OK)
	return &releaseSafety{tally: d.tallyOf(verdicts.ReleaseSafety, n > 0, "nothing was released or extended"), several: Permits(d.a.header) > 1}
}

func (s *releaseSafety) returned(r *record) {
	if r.outcome == history.OK && (r.op == history.Release || r.op == history.Extend) {
		s.judge(r)
	}
	if _, claimed := s.d.k.claims[r]; r.granted() || r.op == history.Extend && r.outcome == history.OK && !claimed && s.d.k.detailOf(r).role == starts {
		s.believe(interval{r: r, hold: s.d.a.holdOf[r.line-1], start: r.ret, end: s.d.k.detailOf(r).end})
	}
}

func (s *releaseSafety) judge(r *record) {
	victim := s.victim(r)
	shown := victim != nil
	if victim == nil && (r.op == history.Extend || !s.commands(r)) && s.cannotHaveBeen(r) {
		if s.d.restored(r) {
			s.leave(r, metAFault)
			return
		}
		victim = r
		if r.op == history.Release {
			victim = s.shownGone(r)
		} else if _, claimed := s.d.k.claims[r]; !claimed { // a later grant shows it
			s.d.k.claims[r] = never
		}
	}
	s.opportunity(r.call, r.ret)
	if victim == nil || !s.d.obeys("mis-unlock") {
		return
	}
	v := Violation{At: r.call, Clients: []string{s.d.clientName(r)}}
	switch later := s.later(r); {
	case shown:
		v.shownBy = byCommands
	case victim != r:
		v.shownBy = byOthers
	case later != nil:
		victim, v.shownBy = later, byOthers
	}
	if victim != r {
		v.Clients = []string{s.d.clientName(victim), s.d.clientName(r)}
	}
	s.found(v, func() Witness { return s.d.both(victim, r) })
}

// since returns when the hold of operation r was requested: the call of its acquire.
func (d *keyInput) since(r *record) int64 {
	if h := d.meant(r); h != nil {
		return h.began.call
	}
	return r.call
}

// meant returns the hold that an operation belongs to; of an extend that begins a new hold after a loss, the hold before.
func (d *keyInput) meant(r *record) *detail {
	if h := d.k.anew[r]; h != nil {
		return h
	}
	return d.holdOf(r)
}

// restored reports whether a fault since the hold of operation r began may have kept or restored it. A server's fault may; a client's may not, unless
// votes count: a lost message leaves nodes that disagree.
func (d *keyInput) restored(r *record) bool {
	client, from := d.clientName(r), d.since(r)
	ended, ends := d.k.claims[r]
	return d.ev.meets(from, r.ret, func(w *history.Window) bool {
		inTime := !ends || w.Start <= ended || w.Last() >= r.call || movesClock(w)
		return inTime && (w.Client == "" || d.a.header.Votes) && d.ev.concerns(w, client, from, r.ret)
	})
}

// commands reports whether the commands of r's client were recorded.
func (s *releaseSafety) commands(r *record) bool { return len(s.d.ev.commands[s.d.clientName(r)]) > 0 }

// cannotHaveBeen reports whether r's hold was certainly gone by r's call, and r cannot mean another.
func (s *releaseSafety) cannotHaveBeen(r *record) bool {
	_, claimed := s.d.k.claims[r]
	return (claimed || s.later(r) != nil) && !s.meansNext(r)
}

// meansNext reports whether r may belong to a hold that its client was being granted meanwhile. Both may have taken effect at one instant.
func (s *releaseSafety) meansNext(r *record) bool {
	own := s.d.meant(r)
	for o := range s.d.k.overlapping(r.call, r.ret) {
		meanwhile := o.granted() && s.d.k.from(o) <= r.ret && o.ret > r.call && (own == nil || o != own.began)
		if meanwhile && s.d.mayMean(r, o) {
			return true
		}
	}
	return false
}

// excludes reports whether two holds of different clients exclude each other.
func (s *releaseSafety) excludes(a, b *record) bool {
	return a.client != b.client && Conflict(s.d.a.header.Kind, false, a.mode, b.mode)
}

// later returns a conflicting grant to another client, later than that of r's hold, that had returned by r's call.
func (s *releaseSafety) later(r *record) *record {
	own := s.d.meant(r)
	if own == nil || s.several {
		return nil
	}
	for i := len(s.recent) - 1; i >= 0; i-- {
		g := s.recent[i]
		if g.r.granted() && s.excludes(own.began, g.r) && g.start+s.d.a.header.ClockError < r.call && s.d.k.from(g.r) > own.began.ret+s.d.a.header.ClockError {
			return g.r
		}
	}
	return nil
}

// shownGone returns a hold with another token that existed throughout release r and is shown to be gone before its lease can have ended.
func (s *releaseSafety) shownGone(r *record) *record {
	for _, i := range s.recent {
		v := s.d.k.details.At(i.hold)
		if own := s.d.holdOf(r); own == v || own != nil && own.token != 0 && own.token == v.token || i.start > r.call || !s.lasted(v, i, r) {
			continue
		}
		if s.endedEarly(v, i, r, true) {
			return v.began
		}
	}
	return nil
}

// lasted reports whether a hold was there, as far as its client knew, until r returned: also beyond a release by which it learnt that it was not.
func (s *releaseSafety) lasted(v *detail, i interval, r *record) bool {
	refused := v.release != nil && v.release.saysGone() && i.end == v.release.call
	return i.end >= r.ret || refused && s.leaseEnd(i, r) >= r.ret
}

// endedEarly reports whether a hold that existed until release r was gone before its lease can have ended, as the reply to its next operation or, if
// grants count, a conflicting grant before that shows.
func (s *releaseSafety) endedEarly(v *detail, i interval, r *record, grants bool) bool {
	end, taken := s.leaseEnd(i, r), never
	for o := range s.d.k.since(r.call) {
		its := s.d.holdOf(o) == v
		switch {
		case o.call > min(taken, end):
			return taken < never
		case o == v.began || o.op == history.Use || o.op == history.Write || o.op == history.Lost:
		case its && o.call >= r.call:
			return taken < o.call || o.saysGone() && o.ret < end
		case grants && o.granted() && !its && !s.several && s.excludes(v.began, o):
			if by := plus(o.ret, s.d.a.header.ClockError); by < end && s.d.k.from(o) > i.start {
				taken = min(taken, by)
			}
		}
	}
	return taken < never
}

// leaseEnd returns the earliest end of a hold's lease, as far as operations until r renewed it; never without leases.
func (s *releaseSafety) leaseEnd(i interval, r *record) int64 {
	lease := s.d.a.header.Lease
	if lease == 0 {
		return never
	}
	end := plus(s.d.k.from(i.r), lease)
	for o := range s.d.k.overlapping(max(i.start, r.ret-lease), r.ret) {
		if o.op == history.Extend && o.outcome == history.OK && o.ret <= r.ret && s.d.a.holdOf[o.line-1] == i.hold {
			end = max(end, plus(o.call, lease))
		}
	}
	return end
}

func (s *releaseSafety) believe(i interval) {
	if len(s.recent) == maxRecent {
		least := slices.IndexFunc(s.recent, func(o interval) bool { return o.end <= i.r.call })
		s.recent = slices.Delete(s.recent, max(least, 0), max(least, 0)+1)
	}
	s.recent = append(s.recent, i)
}

// both returns the holds of the victim and of the releaser, and the release.
func (d *keyInput) both(victim, r *record) Witness {
	var of []*record
	if victim != r {
		of = append(of, victim)
	}
	if own := d.meant(r); own != nil {
		of = append(of, own.began)
	}
	return d.witness(of, r)
}

// victim returns the grant whose hold the commands of release r ended, nil if they ended none.
func (s *releaseSafety) victim(r *record) *record {
	if r.op != history.Release || s.several {
		return nil
	}
	for _, c := range s.d.ev.commandsOf(s.d.clientName(r), r.call, r.ret) {
		next := c.Sent == r.ret && c.Sent > r.call // sent by the next call, at the same instant
		if next || !c.Removed() {
			continue
		}
		if victim := s.holder(r, &c); victim != nil {
			return victim
		}
		if victim := s.reader(r, &c); victim != nil {
			return victim
		}
	}
	return nil
}

// holder returns the grant, later than that of r's own hold, by which another client held while command c was under way: what c removed then was the
// other's, whether the own hold was gone or overwritten. A script may have removed its own beside the other's, unless the other's is shown to be gone. A
// conflicting grant shows that only if the own hold was certainly gone: else two had been let in at once, and a third proves no more than the second.
func (s *releaseSafety) holder(r *record, c *history.Command) *record {
	own := s.d.holdOf(r)
	if own == nil || own.began.mode == history.Shared && c.IsScript() {
		return nil
	}
	_, ownGone := s.d.k.claims[r]
	for _, i := range slices.Backward(s.recent) { // the latest: it took the place of the others
		later := ownGone || i.r.granted() && s.after(own.began, i.r, c) // what an extend renewed may be the releaser's
		if later && s.excludes(own.began, i.r) && i.start > own.began.ret && i.start < c.Sent && i.end >= c.Replied && s.sameNode(i.r, c) &&
			(!c.IsScript() || s.endedEarly(s.d.k.details.At(i.hold), i, r, ownGone)) {
			return i.r
		}
	}
	return nil
}

// after reports whether the node that command c went to certainly gave a grant later than another.
func (s *releaseSafety) after(first, second *record, c *history.Command) bool {
	if s.d.k.from(second) > first.ret {
		return true
	}
	_, to := s.executed(first, c)
	from, _ := s.executed(second, c)
	return from > to
}

// executed returns the earliest and latest instant at which a node can have executed the last command of a grant that may have set keys of command c.
func (s *releaseSafety) executed(grant *record, c *history.Command) (from, to int64) {
	from, to = grant.call, grant.ret
	for _, g := range s.d.ev.commandsOf(s.d.clientName(grant), grant.call, grant.ret) {
		switch {
		case g.Node != c.Node || g.Replied == 0 || !g.Accepted() && !g.IsScript() || !share(g.Keys(), c.Keys()):
		case g.Turn != 0:
			from, to = g.Ran, g.Ran
		default:
			from, to = g.Sent, g.Replied
		}
	}
	return from, to
}

// sameNode reports whether the grant was given on the node that command c went to, by a command on a key that c names: if a lock has several keys,
// one that the next holder has not taken yet still belongs to the last. A grant for which plain commands set nothing was given on no node.
func (s *releaseSafety) sameNode(grant *record, c *history.Command) bool {
	nodes, here, sameKey, plain := map[int]bool{}, false, false, false
	for _, g := range s.d.ev.commandsOf(s.d.clientName(grant), grant.call, grant.ret) {
		if names(g, s.d.k.name) {
			nodes[g.Node] = true
			if g.Node == c.Node && (!g.IsScript() || !plain) { // beside plain commands, scripts only release
				plain = !g.IsScript()
				here = g.Accepted() || here && !plain
			}
			sameKey = sameKey || g.Node == c.Node && share(g.Keys(), c.Keys())
		}
	}
	return sameKey && (here || len(nodes) == 1 && !s.d.setNothing(grant))
}

// setNothing reports whether a grant's commands show that it set nothing: a key existed already, and none wrote, nor any script, which may have.
func (d *keyInput) setNothing(grant *record) bool {
	refused := false
	for _, g := range d.ev.commandsOf(d.clientName(grant), grant.call, grant.ret) {
		switch {
		case !names(g, d.k.name):
		case g.Wrote() || g.IsScript():
			return false
		case g.SetNothing():
			refused = true
		}
	}
	return refused
}

// reader returns a shared hold of another client that had written a key which the plain command c removed.
func (s *releaseSafety) reader(r *record, c *history.Command) *record {
	if c.IsScript() {
		return nil
	}
	for _, i := range s.recent {
		if i.r.client == r.client || i.r.mode != history.Shared || i.start > c.Sent || i.end < c.Replied {
			continue
		}
		for _, g := range s.d.ev.commandsOf(s.d.clientName(i.r), i.r.call, i.r.ret) {
			if g.Wrote() && g.Node == c.Node && slices.Contains(c.Args, g.Args[0]) {
				return i.r
			}
		}
	}
	return nil
}
