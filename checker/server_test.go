package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// A correct server and its clients, simulated: each operation takes effect at one instant between
// its call and its return, or is lost, or comes late. Clients pause, crash, learn of losses, ask
// again, and their clocks differ. What they see is a lawful record of up to 300 operations; see
// breaks for the unlawful ones.
type server struct {
	*rand.Rand
	h       history.Header
	break_  string // what is broken, once; "" = nothing
	broke   bool   // it was
	clients []*user
	width   int64 // of the time around an effect in which its request and reply are under way
	stuck   bool  // it grants nobody any more
	clear   int64 // from when on no hold that expired can be possible
	holds   []held
	fence   uint64
	value   int64
	version uint64
	highest uint64 // fence that was written
	unique  int
	ops     []history.Operation
	faults  []history.Window
}

// user is a client: what it knows of its holds.
type user struct {
	name  string
	now   int64
	clock int64 // its clock is behind by this
	mine  []*mine
	late  []func(now int64) // effects of its requests without a reply, that may still come before its next reply
	dead  bool
}

// mine is a hold as its client knows it.
type mine struct {
	token  string
	fence  uint64
	mode   history.Mode
	until  int64
	read   int64 // of the store, with its version
	readAt uint64
	began  int64
}

// held is a hold at the server.
type held struct {
	client, token string
	mode          history.Mode
	began, ends   int64
}

const tick = int64(1_000_000) // a millisecond

// simulate runs a lock of a kind.
func simulate(kind history.Kind, seed uint64, broken string) *server {
	r := rand.New(rand.NewPCG(seed, 52))
	s := &server{Rand: r, break_: broken, width: 2 * tick, h: history.Header{Kind: kind, Permits: 1}}
	s.h.Lease = []int64{0, 20, 100, 300, 2000}[r.IntN(5)] * tick
	if s.h.Lease > 0 {
		s.h.Drift = []int64{0, 0, s.h.Lease / 100}[r.IntN(3)]
	}
	s.h.ClockError = []int64{0, 0, 0, tick}[r.IntN(4)]
	if kind == history.Semaphore {
		s.h.Permits = 1 + r.IntN(3)
	}
	if broken != "" {
		s.width, s.h.ClockError = tick/10, 0
		if s.h.Lease == 0 && s.pauses() {
			s.h.Lease = 100 * tick
		}
	}
	for i := range 2 + r.IntN(4) {
		u := &user{name: fmt.Sprint("c", i+1), now: r.Int64N(5 * tick)}
		if s.h.ClockError > 0 {
			u.clock = r.Int64N(s.h.ClockError + 1)
		}
		s.clients = append(s.clients, u)
	}
	for range 20 + r.IntN(130) {
		u := slices.MinFunc(s.clients, func(a, b *user) int { return int(min(max(a.now-b.now, -1), 1)) })
		s.step(u)
	}
	s.broke = s.broke && (broken != "outlived-lease" || s.outlived())
	for i := range s.ops {
		s.ops[i].ID = uint64(i) + 1
	}
	return s
}

// do makes an operation of a client. act is called with the instant at which it takes effect, and
// returns the outcome. Effects come in order of time, as the client that is behind is always next;
// a reply may be lost, and so may a request, or it comes late.
func (s *server) do(u *user, op history.Operation, act func(at int64, op *history.Operation)) history.Operation {
	op.Client, op.Key = u.name, "k"
	at := u.now
	op.Call = max(0, at-s.Int64N(s.width)-s.wait())
	if last := s.lastReturn(u); op.Call < last {
		op.Call = last
	}
	s.arrive(at, u)
	lost := s.IntN(25) == 0
	switch {
	case lost && s.IntN(3) == 0: // the request comes late, or never
		op.Outcome = history.Unknown
		if s.IntN(2) == 0 && op.Op != history.Acquire {
			u.late = append(u.late, func(now int64) { late := op; act(now, &late) })
		}
	default:
		broke := s.broke
		if act(at, &op); lost && broke == s.broke {
			op = history.Operation{Client: op.Client, Key: op.Key, Op: op.Op, Mode: op.Mode, Token: op.Token, Call: op.Call, Outcome: history.Unknown, Fence: op.Fence}
		}
	}
	op.Return = at + s.Int64N(s.width)
	if s.break_ == "" && s.h.Lease > 0 && s.IntN(40) == 0 { // the reply takes longer than the lease
		op.Return = at + s.h.Lease + s.Int64N(3*tick)
	}
	if op.Outcome == history.Unknown && op.Op == history.Acquire {
		op.Token = ""
	}
	op.Asked = max(op.Call, at-s.Int64N(tick))
	if op.Op != history.Acquire || op.Outcome != history.OK || s.IntN(3) == 0 {
		op.Asked = 0
	}
	if op.Op == history.Release {
		s.clear = max(s.clear, op.Return)
	}
	shifted := op
	shifted.Call, shifted.Return = op.Call+u.clock, op.Return+u.clock
	if op.Asked != 0 {
		shifted.Asked += u.clock
	}
	s.ops = append(s.ops, shifted)
	u.now = op.Return + s.Int64N(3*tick)
	return op
}

// wait is for how long a request was under way.
func (s *server) wait() int64 {
	if s.break_ == "" && s.IntN(6) == 0 {
		return s.Int64N(30 * tick)
	}
	return 0
}

func (s *server) lastReturn(u *user) (last int64) {
	for i := range s.ops {
		if o := &s.ops[i]; o.Client == u.name && o.Op != history.Use && o.Op != history.Lost {
			last = max(last, o.Return-u.clock)
		}
	}
	return last
}

// arrive lets late requests take effect, those of the client that is served now or never, and ends
// leases.
func (s *server) arrive(now int64, served *user) {
	for _, u := range s.clients {
		for len(u.late) > 0 && s.IntN(2) == 0 {
			s.expire(now)
			u.late[0](now)
			u.late = u.late[1:]
		}
	}
	served.late = nil
	s.expire(now)
}

func (s *server) expire(now int64) {
	s.holds = slices.DeleteFunc(s.holds, func(h held) bool {
		if h.ends <= now {
			s.clear = max(s.clear, h.ends+slack(s.h)+2*s.width+s.h.ClockError)
		}
		return h.ends <= now
	})
}

// pauses reports whether clients must outlive their leases for the break to happen.
func (s *server) pauses() bool {
	return slices.Contains([]string{"outlived-lease", "lost-update", "late-write", "ends-anothers", "extend-of-gone"}, s.break_)
}

func (s *server) step(u *user) {
	switch roll, pause := s.IntN(20), s.pauses() && s.IntN(4) == 0; {
	case u.dead:
		u.now += 1 << 40
	case len(u.mine) == 0:
		s.acquire(u)
	case roll == 0 && len(s.clients) > 2:
		s.crash(u)
	case s.h.Lease > 0 && (roll < 2 || pause):
		u.now += s.Int64N(2 * s.h.Lease) // it pauses, and outlives its lease
	case roll < 5:
		s.extend(u)
	case roll < 10:
		s.work(u)
	case roll < 13 && s.h.Kind != history.Mutex && len(u.mine) < 3:
		s.acquire(u)
	default:
		s.release(u)
	}
}

// room reports whether an acquire can be granted.
func (s *server) room(u *user, mode history.Mode) bool {
	n := 0
	for _, h := range s.holds {
		if Conflict(s.h.Kind, h.client == u.name, h.mode, mode) || s.h.Kind == history.RW && h.client == u.name && h.mode != mode {
			n++
		}
	}
	return n < s.h.Permits
}

func (s *server) acquire(u *user) {
	var got *mine
	op := history.Operation{Op: history.Acquire}
	if s.h.Kind == history.RW && s.IntN(2) == 0 {
		op.Mode = history.Shared
	}
	if s.h.Kind == history.RW && len(u.mine) > 0 { // it asks for the mode that it has
		op.Mode = u.mine[0].mode
		if op.Mode == history.Exclusive {
			s.release(u)
			return
		}
	}
	done := s.do(u, op, func(at int64, op *history.Operation) {
		granted := s.room(u, op.Mode)
		op.Outcome = history.Busy
		if s.h.Lease == 0 && s.h.Kind == history.Mutex && granted && s.IntN(200) == 0 {
			op.Outcome = history.Fail
			return
		}
		switch {
		case s.stuck:
			granted = false
		case s.breaks("stuck-waiter") && granted && len(s.holds) == 0:
			s.stuck = s.broken(true)
			granted = !s.stuck
		case s.breaks("early-grant") && !granted:
			granted = s.broken(s.believers(u, op.Mode) >= s.h.Permits)
		case s.breaks("refused-free") && granted && len(s.holds) == 0 && !s.unsure() && op.Call > s.clear:
			granted = !s.broken(true)
		}
		if !granted {
			return
		}
		op.Outcome = history.OK
		got = s.grant(u, at, op)
	})
	if s.stuck {
		u.now += s.h.Lease/2 + s.Int64N(1000*tick)
	}
	if done.Outcome == history.OK {
		got.until = 0
		u.mine = append(u.mine, got)
		got.read, got.readAt, got.began = s.value, s.version, done.Return
	}
}

func (s *server) grant(u *user, at int64, op *history.Operation) *mine {
	s.unique++
	got := &mine{token: fmt.Sprint("t", s.unique), mode: op.Mode}
	if s.h.Kind == history.Reentrant {
		got.token = "o" + u.name
		s.renew(u.name, at)
	}
	again := s.h.Kind == history.Reentrant && s.ownHolds(u)
	if op.Mode == history.Exclusive && s.h.Permits == 1 {
		if !again {
			s.fence++
		}
		got.fence = s.fence
		if s.breaks("lower-fence") && s.fence > 3 && !again {
			if s.broken(true) {
				got.fence = s.fence - 2
			}
		}
	}
	ends := never
	if s.h.Lease > 0 {
		ends = at + s.h.Lease
		op.ValidUntil = at + s.h.Lease - s.h.Drift + u.clock
		if s.IntN(2) == 0 {
			op.ValidUntil = 0
		}
	}
	s.holds = append(s.holds, held{u.name, got.token, op.Mode, at, ends})
	op.Token, op.Fence = got.token, got.fence
	return got
}

func (s *server) ownHolds(u *user) bool {
	return slices.ContainsFunc(s.holds, func(h held) bool { return h.client == u.name })
}

// believers returns how many that were told that they hold what excludes a grant.
func (s *server) believers(u *user, mode history.Mode) (n int) {
	for _, o := range s.clients {
		for _, m := range o.mine {
			if i := s.at(o, m); i >= 0 && !o.dead && o.now < s.holds[i].ends && Conflict(s.h.Kind, o == u, m.mode, mode) {
				n++
			}
		}
	}
	return n
}

// outlived reports whether two sections that exclude each other overlap.
func (s *server) outlived() bool {
	for _, a := range s.ops {
		for _, b := range s.ops {
			if a.Op == history.Use && b.Op == history.Use && a.Client != b.Client && min(a.Return, b.Return)-max(a.Call, b.Call) > s.h.ClockError {
				return true
			}
		}
	}
	return false
}

// unsure reports whether some request without a reply may still matter.
func (s *server) unsure() bool {
	return slices.ContainsFunc(s.ops, func(o history.Operation) bool { return o.Outcome == history.Unknown })
}

func (s *server) renew(client string, at int64) {
	for i := range s.holds {
		if s.holds[i].client == client && s.h.Lease > 0 {
			s.holds[i].ends = at + s.h.Lease
		}
	}
}

// at returns where a hold is at the server; -1: it is gone.
func (s *server) at(u *user, m *mine) int {
	for i := len(s.holds) - 1; i >= 0; i-- {
		if s.holds[i].client == u.name && s.holds[i].token == m.token {
			return i
		}
	}
	return -1
}

func (s *server) extend(u *user) {
	m := u.mine[len(u.mine)-1]
	done := s.do(u, history.Operation{Op: history.Extend, Token: m.token}, func(at int64, op *history.Operation) {
		i := s.at(u, m)
		switch {
		case i < 0 && s.breaks("extend-of-gone") && op.Call > m.ends(s)+s.h.Drift+2*tick && s.broken(true):
			op.Outcome = history.OK
		case i < 0:
			op.Outcome = history.LostHold
		default:
			op.Outcome = history.OK
			if s.h.Kind == history.Reentrant {
				s.renew(u.name, at)
			} else if s.h.Lease > 0 {
				s.holds[i].ends = at + s.h.Lease
			}
			m.until = at
		}
	})
	if done.Outcome == history.LostHold {
		u.mine = u.mine[:len(u.mine)-1]
	}
}

// ends returns when a hold was over for certain if nothing renewed it after its client last knew.
func (m *mine) ends(s *server) int64 { return max(m.began, m.until) + s.h.Lease }

// work is a critical section with a write.
func (s *server) work(u *user) {
	m := u.mine[len(u.mine)-1]
	op := history.Operation{Op: history.Write, Fence: m.fence, HasValue: true}
	s.do(u, op, func(at int64, op *history.Operation) {
		held := s.at(u, m) >= 0
		if held && m.mode == history.Exclusive && s.h.Permits == 1 {
			m.read, m.readAt = s.value, s.version
		}
		op.Outcome = history.OK
		op.Read, op.ReadVersion, op.Versioned = m.read, m.readAt, true
		stale := !held || m.readAt != s.version || op.Fence != 0 && op.Fence < s.highest
		switch {
		case stale && s.breaks("lost-update") && m.readAt != s.version && s.broken(s.h.Permits == 1 && m.mode == history.Exclusive):
		case stale && s.breaks("late-write") && !held && op.Call > m.ends(s)+s.h.Drift+2*tick && s.written(m) && s.broken(true):
			op.Fence, op.Read, op.ReadVersion = 0, s.value, s.version
		case stale:
			op.Outcome, op.HasValue, op.Versioned = history.Rejected, false, false
			return
		}
		s.version++
		s.highest = max(s.highest, op.Fence)
		s.value += 1 + s.Int64N(3)
		op.Wrote, op.Version = s.value, s.version
	})
}

// written reports whether a later hold has written.
func (s *server) written(m *mine) bool {
	return slices.ContainsFunc(s.ops, func(o history.Operation) bool {
		return o.Op == history.Write && o.Outcome == history.OK && o.Fence > m.fence && m.fence > 0
	})
}

func (s *server) release(u *user) {
	m := u.mine[len(u.mine)-1]
	u.mine = u.mine[:len(u.mine)-1]
	inside := false
	done := s.do(u, history.Operation{Op: history.Release, Token: m.token}, func(at int64, op *history.Operation) {
		i := s.at(u, m)
		lasted := i >= 0 && s.holds[i].began <= m.began // it is not one that a lost reply began anew
		inside = lasted || s.breaks("outlived-lease") && len(s.holds) > 0 && s.others(u) && s.broken(true)
		if i < 0 {
			op.Outcome = history.NotHeld
			if s.breaks("ends-anothers") && len(s.holds) == 1 && s.holds[0].client != u.name && op.Call > m.ends(s)+s.h.Drift+2*tick && s.broken(true) {
				s.holds, op.Outcome = nil, history.OK
			}
			return
		}
		if s.breaks("refused-release") && s.h.Kind != history.Reentrant && (s.h.Lease == 0 || at+8*tick < s.holds[i].ends) && s.broken(true) {
			op.Outcome = history.NotHeld
			return
		}
		op.Outcome = history.OK
		s.holds = slices.Delete(s.holds, i, i+1)
		if s.h.Kind == history.Reentrant && s.IntN(2) == 0 {
			s.renew(u.name, at)
		}
	})
	if inside && done.Call >= m.began {
		s.ops = append(s.ops, history.Operation{Op: history.Use, Client: u.name, Key: "k", Mode: m.mode, ModeNamed: true, Call: m.began + u.clock, Return: done.Call + u.clock})
	}
}

// others reports whether another client has a hold and has not crashed.
func (s *server) others(u *user) bool {
	return slices.ContainsFunc(s.clients, func(o *user) bool { return o != u && !o.dead && s.ownHolds(o) && len(o.mine) > 0 })
}

func (s *server) crash(u *user) {
	u.dead, u.mine = true, nil
	s.faults = append(s.faults, history.Window{Fault: "crash-client", Does: history.Kills, Client: u.name, Node: -1, Start: u.now + u.clock, End: u.now + u.clock, Confirmed: true})
}

// breaks reports whether something is to be broken, and was not yet; broken breaks it if possible.
func (s *server) breaks(what string) bool { return s.break_ == what && !s.broke }

func (s *server) broken(possible bool) bool {
	if possible && len(s.ops) > 5 {
		s.broke = true
		return true
	}
	return false
}

// input returns the record for a check, its lines in any order.
func (s *server) input() Input {
	ops := slices.Clone(s.ops)
	s.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return Input{Header: s.h, Ops: history.NewSlice(ops), Faults: s.faults}
}
