package checker_test

import (
	"encoding/binary"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file is the abstract lock server of docs/verdicts.md as an outsider would program it: time goes from one instant to the next; at each of them
// every effect may happen, every lease that is due may end and every fault may have its effect, and all of it is tried. It shares nothing with
// package checker. Times are in milliseconds.

// The rules that can be left out.
const (
	grantRule = 1 << iota
	refusalRule
	acceptedRule
	fenceRule
	deniedRule
	everyRule = grantRule | refusalRule | acceptedRule | fenceRule | deniedRule
)

type server struct {
	h      history.Header
	fence  uint64 // the highest granted before
	ops    []history.Operation
	tries  []history.Operation // all acquires, whatever came of them
	upsets []pageUpset
	over   map[int]bool               // accepted extends whose hold cannot have been there
	late   map[int]bool               // of these, those whose hold was released
	exact  map[history.Operation]bool // belong to a hold that has their token
	denied map[int]bool               // refused releases and extends for which another property was found broken
	rules  int
	times  []int64
	ahead  map[string]int64 // of each client's clock
	pauses bool             // the clocks may change
	apart  int64            // of the clocks of two operations
	seen   map[string]bool
	steps  int
	most   int
}

// pageUpset is what a fault may have done once: all data may be gone, or the ends of leases have moved.
type pageUpset struct {
	from, to      int64
	gone          bool
	sooner, later int64
}

// kept is a hold in the server's state.
type kept struct {
	by            int // the acquire
	last          int64
	sooner, later int64 // by how much its end has moved
}

type serverState struct {
	at      int // index of the instant
	done    uint32
	cleared uint8
	ended   uint32 // acquires whose hold a release closed
	holds   []kept
	fence   uint64
	fencer  string // the client that was granted it; "" = its hold is gone
}

// explains reports whether an execution that obeys the rules explains the record; known is false if the search was given up.
func (s *server) explains(rules int) (found, known bool) {
	s.rules, s.steps = rules, 0
	var clients []string
	for _, op := range s.ops {
		if !slices.Contains(clients, op.Client) {
			clients = append(clients, op.Client)
		}
	}
	if len(s.upsets) > 0 {
		clients = append(clients, "") // for faults
	}
	s.ahead = map[string]int64{}
	if s.shifted(clients) {
		return true, true
	}
	if s.pauses { // after a pause the clocks may be off by other amounts: is there an execution if each operation has a clock of its own?
		s.ahead, s.apart = map[string]int64{}, s.h.ClockError
		found = s.shifted(nil)
		s.apart = 0
	}
	return false, !found && s.steps < s.most
}

// shifted tries every way in which the clocks may be off.
func (s *server) shifted(clients []string) bool {
	if len(clients) == 0 {
		s.times, s.seen = s.instants(), map[string]bool{}
		return s.from(serverState{fence: s.fence})
	}
	for s.ahead[clients[0]] = 0; s.ahead[clients[0]] <= s.h.ClockError; s.ahead[clients[0]]++ {
		if s.shifted(clients[1:]) {
			return true
		}
	}
	return false
}

func (s *server) earliest(op history.Operation) int64 {
	if op.Op == history.Acquire && op.Asked > op.Call {
		return op.Asked + s.ahead[op.Client]
	}
	return op.Call + s.ahead[op.Client]
}

// latest returns the end of an operation that has one.
func (s *server) latest(op history.Operation) int64 {
	return op.Return + s.ahead[op.Client] + s.apart
}

func (s *server) keep() int64 { return s.h.Lease + s.h.Drift + 1 }

// instants returns the relevant times: in an execution whose effects are all as early as possible, each is at a call, or some leases after or before
// one.
func (s *server) instants() (out []int64) {
	var first, last int64 = 1 << 60, -1 << 60
	add := func(t int64) { out = append(out, t) }
	for _, op := range s.ops {
		t := s.earliest(op)
		first, last = min(first, t), max(last, s.latest(op))
		add(t)
	}
	for _, u := range s.upsets {
		add(u.from + s.ahead[""])
	}
	if last-first <= 60 {
		out = out[:0]
		for t := first - 1; t <= last+1; t++ {
			add(t)
		}
		return out
	}
	base := slices.Clone(out)
	for _, t := range base {
		for _, u := range s.upsets {
			for n := int64(1); n <= 3; n++ {
				add(t + n*s.h.Lease - u.sooner)
				add(t - n*s.keep() - u.later)
			}
		}
	}
	if s.h.Lease > 0 {
		for _, t := range base {
			for a := range int64(4) {
				for b := range int64(4) {
					add(t + a*s.h.Lease - b*s.keep())
				}
			}
		}
	}
	out = slices.DeleteFunc(out, func(t int64) bool { return t < first || t > last })
	slices.Sort(out)
	return slices.Compact(out)
}

func (st serverState) key() string {
	b := binary.AppendUvarint(nil, uint64(st.at))
	b = binary.AppendUvarint(b, uint64(st.done))
	b = binary.AppendUvarint(b, uint64(st.ended)<<8|uint64(st.cleared))
	b = append(binary.AppendUvarint(b, st.fence), st.fencer...)
	for _, h := range st.holds {
		b = binary.AppendVarint(append(b, byte(h.by)), h.last)
		b = binary.AppendVarint(binary.AppendVarint(b, h.sooner), h.later)
	}
	return string(b)
}

func (s *server) from(st serverState) bool {
	if s.steps++; s.steps > s.most || st.at == len(s.times) {
		return s.allDone(st)
	}
	t := s.times[st.at]
	for i, op := range s.ops {
		if st.done&(1<<i) == 0 && op.Outcome != history.Unknown && s.latest(op) < t {
			return false
		}
	}
	for _, h := range st.holds {
		if s.h.Lease > 0 && t > h.last+s.keep()+h.later {
			return false
		}
	}
	if s.allDone(st) {
		return true
	}
	key := st.key()
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	for i, op := range s.ops {
		late := op.Outcome != history.Unknown && s.latest(op) < t
		if st.done&(1<<i) == 0 && s.earliest(op) <= t && !late && !s.awaits(st, op) && s.effect(st, i, t) {
			return true
		}
	}
	for n, h := range st.holds {
		if s.h.Lease > 0 && t >= h.last+max(0, s.h.Lease-h.sooner) {
			to := st
			to.holds = slices.Delete(slices.Clone(st.holds), n, n+1)
			if s.from(to) {
				return true
			}
		}
	}
	for i, u := range s.upsets {
		if st.cleared&(1<<i) != 0 || t < u.from+s.ahead[""] || t > u.to+s.ahead[""] {
			continue
		}
		to := st
		to.cleared, to.holds = st.cleared|1<<i, nil
		for _, h := range st.holds {
			if h.sooner, h.later = h.sooner+u.sooner, h.later+u.later; !u.gone {
				to.holds = append(to.holds, h)
			}
		}
		if s.from(to) {
			return true
		}
	}
	st.at++
	return s.from(st)
}

// awaits reports whether something that a client did before an operation has had no effect yet: it does one thing after the other. A watchdog's extends
// may overlap the rest, but follow the grants that the client had, and one that took time precedes an acquire that was called when it had returned.
func (s *server) awaits(st serverState, op history.Operation) bool {
	for k, o := range s.ops {
		over := o.Return <= op.Call && (o.Call < op.Call || o.Return < op.Return)
		if st.done&(1<<k) == 0 && o.Client == op.Client && o.Outcome != history.Unknown && over &&
			(o.Op != history.Extend && (op.Op != history.Extend || o.Op == history.Acquire && o.Outcome == history.OK) ||
				o.Op == history.Extend && o.Call < o.Return && op.Op == history.Acquire) {
			return true
		}
	}
	return false
}

func (s *server) allDone(st serverState) bool {
	for i, op := range s.ops {
		if st.done&(1<<i) == 0 && op.Outcome != history.Unknown {
			return false
		}
	}
	return true
}

// belongs reports whether an operation may belong to the hold of an acquire.
func (s *server) belongs(op history.Operation, by int) bool {
	a := s.ops[by]
	switch {
	case a.Client != op.Client:
		return false
	case op.Op == history.Release && (a.Call > op.Call || a.Call == op.Call && a.Return > op.Return):
		return false // its client called the acquire later, perhaps at the same instant
	case op.Op == history.Extend && a.Call >= max(op.Return, op.Call+1), a.Call > op.Call && a.Call >= op.Return:
		return false
	case a.Token != "" && op.Token != "":
		return a.Token == op.Token
	case s.exact[op]:
		return false
	case a.Outcome == history.Unknown && op.Token != "" && slices.ContainsFunc(s.ops, func(o history.Operation) bool {
		later := o.Call > op.Call || o.Call == op.Call && o.Return > op.Return
		if op.Op == history.Extend {
			later = o.Call >= max(op.Return, op.Call+1)
		}
		return o.Op == history.Acquire && (o.Outcome == history.OK || o.Outcome == history.Unknown) && o.Token == op.Token && !later
	}):
		return false // an earlier try has its token
	}
	return !op.ModeNamed && op.Mode == history.Exclusive || a.Mode == op.Mode
}

func (s *server) effect(st serverState, i int, t int64) bool {
	op := s.ops[i]
	st.done |= 1 << i
	obeys := func(rule int) bool { return s.rules&rule != 0 }
	switch {
	case op.Op == history.Acquire && op.Outcome == history.Busy:
		return (!obeys(refusalRule) || s.mayRefuse(st, op)) && s.from(st)
	case op.Op == history.Acquire:
		return s.grant(st, i, t)
	}
	var own []int // in st.holds
	for n, h := range st.holds {
		if s.belongs(op, h.by) {
			own = append(own, n)
		}
	}
	var gone []int // other holds to which it may belong and that are gone; an answered release closes the one that it belongs to
	for k, a := range s.ops {
		there := slices.ContainsFunc(st.holds, func(h kept) bool { return h.by == k })
		if a.Op == history.Acquire && a.Outcome == history.OK && st.done&(1<<k) != 0 && st.ended&(1<<k) == 0 && !there && s.belongs(op, k) {
			gone = append(gone, k)
		}
	}
	toNone := func() bool {
		if op.Op != history.Release || len(gone) == 0 {
			return s.from(st)
		}
		return slices.ContainsFunc(gone, func(k int) bool {
			to := st
			to.ended |= 1 << k
			return s.from(to)
		})
	}
	switch {
	case op.Outcome == history.NotHeld || op.Outcome == history.LostHold:
		if s.denied[i] && !obeys(deniedRule) {
			return s.from(st)
		}
		return (len(own) == 0 || s.h.Kind != history.Reentrant && (len(gone) > 0 || s.asksOfAnotherTry(st, op))) && toNone()
	case op.Op == history.Extend:
		for _, n := range own {
			to := st
			to.holds = s.renewed(st.holds, op.Client, t)
			to.holds[n] = kept{by: st.holds[n].by, last: t}
			if s.from(to) {
				return true
			}
		}
		if obeys(acceptedRule) || op.Outcome != history.OK {
			return false
		}
		if s.late[i] {
			gone = s.released(st, op)
		}
		return s.from(st) || s.over[i] && slices.ContainsFunc(gone, func(k int) bool { // it may have made the hold again
			to := st
			to.holds = append(s.renewed(st.holds, op.Client, t), kept{by: k, last: t})
			return s.from(to)
		})
	}
	for n := range st.holds {
		mine := slices.Contains(own, n)
		if !mine && (obeys(acceptedRule) || op.Outcome == history.Unknown) {
			continue
		}
		to := st
		if mine && op.Outcome == history.OK {
			to.ended |= 1 << st.holds[n].by
		}
		to.holds = slices.Delete(slices.Clone(st.holds), n, n+1)
		if s.from(to) {
			return true
		}
		if to.holds = s.renewed(to.holds, op.Client, t); s.h.Kind == history.Reentrant && s.from(to) {
			return true
		}
	}
	return op.Outcome == history.OK && (len(own) == 0 || len(gone) > 0 || s.asksOfAnotherTry(st, op)) && toNone()
}

// asksOfAnotherTry reports whether a client that has only tries of unknown outcome may mean one that is not there.
func (s *server) asksOfAnotherTry(st serverState, op history.Operation) (other bool) {
	for k, a := range s.ops {
		there := slices.ContainsFunc(st.holds, func(h kept) bool { return h.by == k })
		switch {
		case a.Op != history.Acquire || !s.belongs(op, k):
		case a.Outcome == history.OK && there:
			return false
		case a.Outcome == history.Unknown && !there:
			other = true
		}
	}
	return other
}

// released returns the acquires before an operation whose holds it may mean, and that are not there.
func (s *server) released(st serverState, op history.Operation) (gone []int) {
	for k, a := range s.ops {
		there := slices.ContainsFunc(st.holds, func(h kept) bool { return h.by == k })
		if a.Op == history.Acquire && a.Outcome == history.OK && st.done&(1<<k) != 0 && !there && s.belongs(op, k) {
			gone = append(gone, k)
		}
	}
	return gone
}

// renewed returns the holds after an effect that renews those of a re-entrant client.
func (s *server) renewed(holds []kept, client string, t int64) []kept {
	out := slices.Clone(holds)
	for n := range out {
		if s.h.Kind == history.Reentrant && s.ops[out[n].by].Client == client {
			out[n] = kept{by: out[n].by, last: t}
		}
	}
	return out
}

func (s *server) permits() int {
	if s.h.Kind == history.Semaphore {
		return max(1, s.h.Permits)
	}
	return 1
}

// mayRefuse: a conflicting hold exists, including the client's own, or the header allows a refusal.
func (s *server) mayRefuse(st serverState, op history.Operation) bool {
	n := 0
	for _, h := range st.holds {
		if s.h.Kind != history.RW || op.Mode == history.Exclusive || s.ops[h.by].Mode == history.Exclusive {
			n++
		}
	}
	if n >= s.permits() {
		return true
	}
	for _, o := range s.tries {
		if o.Client == op.Client || o.Call > op.Return+s.h.ClockError {
			continue
		}
		until := o.Return
		if o.Outcome == history.Unknown {
			until = 1 << 60
		}
		if s.h.Votes && s.h.Lease == 0 {
			until = 1 << 60
		} else if s.h.Votes {
			until += s.keep() // the votes that it got stay until they are taken back, or for a lease
		}
		if (s.h.Votes || s.h.FIFO && o.Call <= op.Call+s.h.ClockError) && until >= op.Call-s.h.ClockError {
			return true
		}
	}
	return false
}

func (s *server) grant(st serverState, i int, t int64) bool {
	op := s.ops[i]
	n, again := 0, false
	for _, h := range st.holds {
		a := s.ops[h.by]
		same := a.Client == op.Client
		conflict := true
		switch s.h.Kind {
		case history.Reentrant:
			conflict = !same
			again = again || same
		case history.RW:
			bothShared, bothExclusive := a.Mode == history.Shared && op.Mode == history.Shared, a.Mode == history.Exclusive && op.Mode == history.Exclusive
			conflict = !same && !bothShared || same && bothExclusive
		}
		if conflict {
			n++
		}
	}
	if n >= s.permits() && (s.rules&grantRule != 0 || op.Outcome == history.Unknown) {
		return false
	}
	if !again && st.fencer == op.Client {
		st.fencer = "" // another hold than that with the fence
	}
	if op.Outcome == history.OK && op.Fence != 0 && op.Mode == history.Exclusive {
		if s.rules&fenceRule != 0 && (op.Fence < st.fence || op.Fence == st.fence && !(again && st.fencer == op.Client)) {
			return false
		}
		if op.Fence > st.fence {
			st.fence, st.fencer = op.Fence, op.Client
		}
	}
	st.holds = append(s.renewed(st.holds, op.Client, t), kept{by: i, last: t})
	return s.from(st)
}

// upsetsOf returns what a fault may have done to the data and the clocks of the servers.
func upsetsOf(w history.Window) (all []pageUpset) {
	switch {
	case !w.Confirmed || w.Client != "":
		return nil
	case w.Fault == "kill-server", w.Fault == "delete-key", w.Fault == "evict-keys", w.Fault == "failover" && w.Replica != history.HadKey:
		return []pageUpset{{from: w.Start, to: last(w), gone: true}}
	}
	for _, e := range w.Effects {
		if w.Fault == "jump-clock" {
			all = append(all, pageUpset{from: w.Start, to: e.At, sooner: max(e.By, 0), later: max(-e.By, 0)})
		}
	}
	return all
}
