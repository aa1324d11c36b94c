package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// stuckCause explains a lock that was not to be had although nobody could be holding it: a progress, refusal or hygiene
// violation. It follows the key on the server from command to command, and asks who left there what was found.
func (s *scene) stuckCause(v *Violation) history.Cause {
	left := s.leftover(v.At)
	if left.taker != nil && !s.refusedBefore(left.taker) {
		cause := s.blame(left, v.At)
		if cause == history.CauseUnknown && v.Property == history.Progress && s.asleep(v) {
			return history.LostWakeup // who took it does not matter to one who does not ask
		}
		return cause
	}
	later := s.leftover(plus(v.At, v.Lasted))
	alone := later.taker != nil && !s.grantedWithin(v)
	if alone && later.taker.takes() {
		return s.blame(later, v.At) // who waits may have begun just before the key was taken that nobody is granted
	}
	own, undone := s.unended(v), s.undone(v)
	switch {
	case left.expired && s.jumped(v.At):
		return history.ClockJump
	case v.Property == history.Hygiene:
		return history.CauseUnknown
	case s.neverGranted(v) || left.taker != nil:
		return history.NeverGranted
	case s.deadWaiter(v.At) && s.keyAlone(v):
		return history.NoExpiry
	case s.deadWaiter(v.At) && len(s.steps) > 0:
		return history.Orphan
	case own != nil:
		s.reason = reason{step: own, first: s.grantedBy(own)}
		return history.NoExpiry
	case undone != nil:
		s.reason = reason{window: undone}
		cause, _ := causeOf(undone.Fault)
		return cause
	case v.Property == history.Progress && s.asleep(v):
		return history.LostWakeup
	case alone:
		return s.blame(later, v.At)
	case v.Property == history.Progress && s.inOwnWay(v):
		return history.AmbiguousReply
	}
	return history.CauseUnknown
}

// inOwnWay reports whether a client that waits took back, while it waited, what a request of its own had been granted that it saw no reply of: it stands
// in its own way, however often it asks.
func (s *scene) inOwnWay(v *Violation) bool {
	var unseen *step
	for i := range s.steps {
		st := &s.steps[i]
		if st.during != history.Acquire || !slices.Contains(v.Clients, st.Client) || st.Sent < v.At || st.Sent >= plus(v.At, v.Lasted) {
			continue
		}
		switch {
		case st.effect == effectMaybe && mayTake(st):
			unseen = st
		case unseen != nil && st.effect == effectFree:
			s.reason = reason{step: unseen}
			return true
		}
	}
	return false
}

// unended is a request that took the lock, or may have, and that nobody is known to have taken back: its client died since, or no reply was seen of it,
// or none of its release. In a lock that has no lease, what was granted then stays. Where clients share the lock, it shuts one out while others
// come and go.
func (s *scene) unended(v *Violation) (first *step) {
	if v.Property != history.Progress || s.header.Lease != 0 {
		return nil
	}
	for _, st := range s.leftBehind(plus(v.At, v.Lasted)) {
		if first == nil || cmp.Or(cmp.Compare(st.Sent, first.Sent), cmp.Compare(st.Client, first.Client)) < 0 {
			first = st
		}
	}
	return first
}

// leftBehind gives, by client, what took the lock before an instant, or may have, and was not taken back for certain.
func (s *scene) leftBehind(by int64) map[string]*step {
	taken, doubtful := map[string]*step{}, map[string]*step{}
	for i := range s.steps {
		st := &s.steps[i]
		switch {
		case st.Sent >= by:
		case st.during == history.Acquire && st.effect == effectMaybe && mayTake(st):
			doubtful[st.Client] = st
		case st.takes():
			taken[st.Client] = st
		case st.during == history.Release && st.effect == effectFree:
			delete(taken, st.Client)
			delete(doubtful, st.Client)
		case st.during == history.Release && st.Replied == 0 && taken[st.Client] != nil:
			doubtful[st.Client] = taken[st.Client]
		}
	}
	for client, st := range taken {
		if died, dead := s.crashed(client); dead && died < by {
			doubtful[client] = st
		}
	}
	return doubtful
}

// undone is the fault that may have taken back a release, of a lock that has no lease: the server that is asked now has what it had before, and
// nobody will release it again.
func (s *scene) undone(v *Violation) *history.Window {
	if v.Property != history.Progress || s.header.Lease != 0 {
		return nil
	}
	for i := range s.faults {
		w := &s.faults[i]
		cause, _ := causeOf(w.Fault)
		loses := cause == history.RestartLoss || cause == history.FailoverLoss
		if loses && w.Confirmed && w.Last() <= plus(v.At, v.Lasted) && slices.ContainsFunc(s.steps, func(st step) bool {
			return st.effect == effectFree && plus(st.latest(), unwritten) >= w.Start && st.Sent <= w.Last()
		}) {
			return w
		}
	}
	return nil
}

// unwritten is how old a write may be that a server has not written to its disk (appendfsync everysec waits up to two seconds) or sent to its replica.
const unwritten = 2 * second

// blame notes what was left and gives its cause.
func (s *scene) blame(left leftover, at int64) history.Cause {
	s.reason = reason{step: left.taker, first: s.grantedBy(left.taker)}
	return s.leftoverCause(left, at)
}

// grantedWithin reports whether anybody was granted the lock while the violation lasted.
func (s *scene) grantedWithin(v *Violation) bool {
	return slices.ContainsFunc(s.holds, func(h *hold) bool { return v.At <= h.start() && h.granted() <= plus(v.At, v.Lasted) })
}

// leftover is the state of a lock's key on the server, as the commands up to an instant leave it.
type leftover struct {
	taker   *step // who took the key that is there; nil when there is none
	before  *step // who had taken it when the taker asked
	freeing *step // an attempt to free it that no reply was seen of
	leased  bool  // it ends by itself
	ends    int64 // when, if it does
	leasing *step // who said so
	expired bool  // a key that was there has ended by itself
}

// leftover replays the steps that were sent up to an instant.
func (s *scene) leftover(at int64) leftover {
	var k leftover
	for i := range s.steps {
		st := &s.steps[i]
		if st.Sent > at {
			break
		}
		s.loseKey(&k, st.Sent)
		k.age(st.Sent)
		s.apply(&k, st)
	}
	s.loseKey(&k, at)
	k.age(at)
	return k
}

// loseKey takes away what faults took from the server by an instant: the key, or of a key whose end a command of its own had set that end, which a
// replica that was promoted may not have.
func (s *scene) loseKey(k *leftover, at int64) {
	for i := range s.faults {
		w := &s.faults[i]
		if k.taker == nil || !w.Confirmed || w.Last() > at {
			continue
		}
		switch w.Fault {
		case faultDeleteKey, faultEvictKeys:
			if k.taker.latest() <= w.Start {
				*k = leftover{}
			}
		case faultFailover:
			if k.leased && k.leasing != k.taker && k.leasing.Sent <= w.Last() {
				k.leased = false
			}
		}
	}
}

// age lets the key end by itself.
func (k *leftover) age(now int64) {
	if k.taker != nil && k.leased && k.ends < now {
		*k = leftover{expired: true}
	}
}

func (s *scene) apply(k *leftover, st *step) {
	switch {
	case st.effect == effectFree && k.follows(st):
	case st.effect == effectFree:
		*k = leftover{}
	case st.takes() || st.effect == effectMaybe && st.during == history.Acquire && k.taker == nil && mayTake(st):
		*k = leftover{taker: st, before: k.taker}
		k.lease(st, s.ttl(st))
	case st.effect == effectLease && k.taker != nil:
		k.lease(st, s.ttl(st))
	case st.effect == effectMaybe && st.during == history.Release && k.taker != nil:
		k.freeing = st
	}
}

// follows reports whether the key was taken after a step that freed it, though it was asked for before: the two were under way
// together, the key was the freeing client's, and the taker's condition was that nobody held it.
func (k *leftover) follows(free *step) bool {
	return k.taker != nil && k.taker.effect == effectCreate && k.before != nil && k.before.Client == free.Client &&
		k.taker.Client != free.Client && free.Sent <= k.taker.latest()
}

// mayTake reports whether a command whose reply was not seen is one that takes a lock, not one that sets a lease.
func mayTake(st *step) bool {
	return st.script() || st.Name == "SET" || st.Name == "SETNX" || st.Name == "GETSET"
}

// lease sets when the key ends: at the latest a lease after the reply.
func (k *leftover) lease(st *step, ttl int64) {
	k.leased = ttl > 0
	if k.leased {
		k.ends, k.leasing = max(st.Sent, st.Replied)+ttl, st
	}
}

// leftoverCause says why a key is still there that no client believes in.
func (s *scene) leftoverCause(k leftover, at int64) history.Cause {
	_, dead := s.crashed(k.taker.Client)
	h := s.grantedBy(k.taker)
	switch {
	case h == nil && k.taker.during != history.Acquire:
		return history.Resurrection
	case k.taker.effect == effectMaybe && k.taker.script() && !s.granted() && !(dead && s.header.Lease == 0):
		return history.CauseUnknown // what its reply would have been, no other reply tells
	case !k.leased:
		return history.NoExpiry
	case h != nil && !dead && h.believed(at):
		return history.CauseUnknown // it is held, and rightly so
	case h == nil && !dead && k.taker.effect == effectMaybe:
		return history.AmbiguousReply
	case h == nil && k.taker.outcome == history.Unknown:
		return history.Orphan
	case h != nil && (dead || k.freeing != nil || h.release != nil):
		return history.Orphan
	}
	return history.CauseUnknown
}

// grantedBy is the hold that a step granted.
func (s *scene) grantedBy(st *step) *hold {
	for _, h := range s.holds {
		if slices.Contains(h.grants, st) {
			return h
		}
	}
	return nil
}

// jumped reports whether a server's clock was set before an instant.
func (s *scene) jumped(at int64) bool {
	return slices.ContainsFunc(s.faults, func(w history.Window) bool {
		return w.Fault == faultJumpClock && w.Confirmed && w.Start <= at
	})
}

// neverGranted reports whether nobody was ever granted the lock in the mode that the violation's clients asked for, though
// the server answered them. An acquire of unknown outcome may have been granted, unless the
// commands show that no key was left by it; a single refusal is no rule.
func (s *scene) neverGranted(v *Violation) bool {
	refusals, left := 0, s.leftByDead(v)
	for _, op := range s.ops {
		if op.Op != history.Acquire {
			continue
		}
		if op.Outcome == history.Unknown && len(s.steps) == 0 || (left || underWay(v, &op)) && slices.Contains(v.Clients, op.Client) && s.everGranted(op.Mode) {
			return false
		}
		refusals += s.refusals(&op)
	}
	return refusals > 1
}

// leftByDead reports whether somebody had died by the end of a violation who had asked for the lock. He may have left what keeps one mode out and not
// the other: a violation may be about whatever its clients ever asked for, then, and not only about what they asked for while it lasted.
func (s *scene) leftByDead(v *Violation) bool {
	return slices.ContainsFunc(s.faults, func(w history.Window) bool {
		return w.Fault == faultCrashClient && w.Start <= plus(v.At, v.Lasted) && s.everAsked(w.Client)
	})
}

// underWay reports whether an operation was under way while a violation lasted.
func underWay(v *Violation, op *history.Operation) bool {
	return op.Call <= plus(v.At, v.Lasted) && v.At <= op.Return
}

// refusedBefore reports whether the lock was refused before anybody can have taken it, when the one that may have is a request that no
// reply was seen of, and nobody was ever granted the lock.
func (s *scene) refusedBefore(taker *step) bool {
	if taker.effect != effectMaybe || s.granted() {
		return false
	}
	for i := range s.steps {
		st := &s.steps[i]
		switch {
		case st.Sent >= taker.Sent || st.takes() || st.effect == effectMaybe:
			return false
		case st.effect == effectRefuse && st.during == history.Acquire && !strings.HasPrefix(st.Reply, "-") && st.latest() < taker.Sent:
			return true
		}
	}
	return false
}

// granted reports whether anybody was ever granted the lock, in whatever mode.
func (s *scene) granted() bool {
	return s.everGranted(history.Exclusive) || s.everGranted(history.Shared)
}

// refusals counts how often an acquire was refused: by command, or as a whole where no command is known.
func (s *scene) refusals(op *history.Operation) (n int) {
	for i := range s.steps {
		st := &s.steps[i]
		if st.Client == op.Client && op.Call <= st.Sent && st.Sent <= op.Return && st.effect == effectRefuse && !strings.HasPrefix(st.Reply, "-") {
			n++
		}
	}
	if n == 0 && op.Outcome == history.Busy {
		return 1
	}
	return n
}

// deadWaiter reports whether a client died while it waited for the lock, before an instant.
func (s *scene) deadWaiter(at int64) bool {
	return slices.ContainsFunc(s.ops, func(op history.Operation) bool {
		died, dead := s.crashed(op.Client)
		return dead && died <= at && op.Op == history.Acquire && op.Call <= died && died <= op.Return && op.Outcome == history.Unknown
	})
}

// keyAlone reports whether clients were refused for longer than a lease by plain commands on one key. There is no queue then that a
// dead client may stand in: it left the key, and left it without a lease.
func (s *scene) keyAlone(v *Violation) bool {
	refused := 0
	for i := range s.steps {
		st := &s.steps[i]
		if st.Sent < v.At || st.Sent > plus(v.At, v.Lasted) || st.during != history.Acquire || st.effect != effectRefuse {
			continue
		}
		if st.Name != "SETNX" && st.Name != "SET" {
			return false
		}
		refused++
	}
	return refused > 1 && v.Lasted > s.header.Lease
}

// asleep reports whether a client waited through the violation and hardly asked, and nothing kept it from asking.
func (s *scene) asleep(v *Violation) bool {
	return slices.ContainsFunc(s.ops, func(op history.Operation) bool {
		waits := op.Op == history.Acquire && slices.Contains(v.Clients, op.Client) && op.Call <= v.At && op.Return >= v.At+v.Lasted
		return waits && s.askedIn(op) && s.silence(op.Client, v.At, v.At+v.Lasted) >= v.Lasted*3/4 && !s.hindered(op.Client, v.At)
	})
}

// silence is the longest time between two instants in which a client sent no command for the lock.
func (s *scene) silence(client string, from, to int64) (longest int64) {
	last := from
	for i := range s.steps {
		if st := &s.steps[i]; st.Client == client && from < st.Sent && st.Sent < to {
			longest, last = max(longest, st.Sent-last), st.Sent
		}
	}
	return max(longest, to-last)
}

// askedIn reports whether an acquire sent any command: else the record of commands does not cover it.
func (s *scene) askedIn(op history.Operation) bool {
	return slices.ContainsFunc(s.steps, func(st step) bool {
		return st.Client == op.Client && op.Call <= st.Sent && st.Sent <= op.Return
	})
}

// hindered reports whether a fault was done to a client at an instant.
func (s *scene) hindered(client string, at int64) bool {
	return slices.ContainsFunc(s.faults, func(w history.Window) bool {
		return w.Client == client && w.Fault != faultSkewClient && w.Start <= at && at < w.Last()
	})
}
