package checker

import (
	"maps"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// follower goes through a key's records once and finds out, for every grant, when its belief ended and until when the server may
// have kept it. One client is sequential, so its own order tells which release ends which grant: the one with the same token, else
// the innermost. Beliefs end at the first of release called, loss told, valid-until; a lease that is extended too late
// ends a belief and starts another.
//
// Re-entry nests: the outermost grant counts. Where a count is uncertain, because the outcome of a re-entry or of an inner
// release is unknown, the belief is taken to be the shorter one: a client that is not sure does not believe.
type follower struct {
	a      *archive
	k      *keyLog
	actors map[uint32]*actor // by client number
	slack  int64
	crash  map[string]history.Window
}

// actor is what one client is doing on the key.
type actor struct {
	idleAt   int64 // return of its last operation that spans nothing
	lastLine uint32
	holds    []openHold
	unsure   bool // an acquire of unknown outcome, and no grant since
}

// openHold is a hold whose end has not been met yet.
type openHold struct {
	grant   uint32 // detail of the grant
	belief  uint32 // detail of the grant or extend at which the current belief started
	token   uint32
	mode    history.Mode
	depth   int
	loose   bool // the depth is not certain, for a release may not have taken effect
	shaky   bool // the depth is not certain, for an acquire of unknown outcome may have
	until   int64
	gone    int64 // the last instant at which the server may keep it, if it is not released
	notices []notice
}

// notice is something the holder was told at an instant that the walk has not reached: an extend's new until, or a loss.
type notice struct {
	at, until int64
	detail    uint32 // of the extend; 0 = a loss
}

// ghost is a time in which a client that crashed may have held the lock by a request that nobody recorded.
type ghost struct{ from, died, to int64 }

// leaseSlack is what a server may keep a key beyond its lease: expiry is counted in milliseconds and by another clock.
func leaseSlack(h history.Header) int64 {
	return h.Drift + h.ClockError + max(h.Lease/20, 5_000_000)
}

func (a *archive) follow(k *keyLog, faults []history.Window) error {
	f := &follower{a: a, k: k, slack: leaseSlack(a.header), crash: map[string]history.Window{}}
	for _, w := range faults {
		if w.Fault == faultCrashClient && w.Client != "" {
			f.crash[w.Client] = w
		}
	}
	f.actors = map[uint32]*actor{}
	k.orphans = map[uint32]int64{}
	for c := k.walk(); ; {
		r := c.next()
		if r == nil {
			break
		}
		if err := f.step(r); err != nil {
			return err
		}
	}
	for _, client := range slices.Sorted(maps.Keys(f.actors)) {
		f.leave(client, f.actors[client])
	}
	return nil
}

func (f *follower) step(r *record) error {
	who := f.actors[r.client]
	if who == nil {
		who = &actor{idleAt: math.MinInt64}
		f.actors[r.client] = who
	}
	if !r.spanning() {
		if r.call < who.idleAt {
			return f.a.broken(r.line, "client %q calls %s at %d while its operation of line %d on the same key is not over before %d; one client does one thing at a time",
				f.a.clients.text(r.client), r.op, r.call, who.lastLine+1, who.idleAt)
		}
		who.idleAt, who.lastLine = r.ret, r.line
	}
	switch r.op {
	case history.Acquire:
		f.acquire(who, r)
	case history.Extend:
		f.extend(who, r)
	case history.Release:
		f.release(who, r)
	case history.Lost:
		if h := who.find(f.k.tokenOf(r), r.mode); h != nil {
			h.notices = append(h.notices, notice{at: r.call, until: r.call})
		}
	}
	return nil
}

// tokenOf is the number+1 of an operation's token in the dictionary; 0 when it has none.
func (k *keyLog) tokenOf(r *record) uint32 {
	if r.detailed() {
		return k.detailOf(r).token
	}
	return r.detail
}

// find gives the open hold with the token, else the innermost of the mode, else the innermost.
func (w *actor) find(token uint32, mode history.Mode) *openHold {
	var best *openHold
	for i := range w.holds {
		h := &w.holds[i]
		if token != 0 && h.token == token {
			return h
		}
		if best == nil || h.mode == mode || best.mode != mode {
			best = h
		}
	}
	return best
}

// leaseEnd is the latest instant at which a lease that was started by time t ends on the server.
func (f *follower) leaseEnd(t, until int64) int64 {
	if f.a.header.Lease == 0 || until == never {
		return never
	}
	return max(plus(t, f.a.header.Lease), until) + f.slack
}

func (f *follower) untilOf(r *record) int64 {
	op := history.Operation{Call: r.call, ValidUntil: f.k.detailOf(r).until}
	return until(f.a.header, &op)
}

func (f *follower) acquire(who *actor, r *record) {
	if r.outcome == history.Unknown {
		who.unsure = true
		for i := range who.holds {
			who.holds[i].shaky = true
		}
		return
	}
	if r.outcome != history.OK {
		return
	}
	who.settle(f, r.call)
	if h := f.outer(who, r); h != nil {
		h.depth++
		h.notices = append(h.notices, notice{r.ret, f.untilOf(r), r.detail})
		h.gone = max(h.gone, f.leaseEnd(r.ret, f.untilOf(r)))
		f.k.detailOf(r).role = nested
		f.k.reentries++
		return
	}
	f.dropLapsed(who, r.call)
	d := f.k.detailOf(r)
	d.role = starts
	end := f.untilOf(r)
	who.holds = append(who.holds, openHold{grant: r.detail, belief: r.detail, token: d.token, mode: r.mode, depth: 1,
		shaky: who.unsure && f.a.header.Kind == history.Reentrant, until: end, gone: f.leaseEnd(r.ret, end)})
	who.unsure = false
}

// outer gives the hold that an acquire re-enters. A hold that has lapsed is not re-entered: its client may just as well have
// given it up, unless it is extending it meanwhile and will succeed.
func (f *follower) outer(who *actor, r *record) *openHold {
	for i := range who.holds {
		h := &who.holds[i]
		same := f.a.header.Kind == history.Reentrant || f.a.header.Kind == history.RW && h.mode == r.mode
		if same && (h.until > r.call || h.extending(r.call)) {
			return h
		}
	}
	return nil
}

// extending tells whether the holder will be told, behind an instant, of an extend that it asked for before and that reaches beyond it.
func (h *openHold) extending(t int64) bool {
	return slices.ContainsFunc(h.notices, func(n notice) bool { return n.detail != 0 && n.at > t && n.until > t })
}

// dropLapsed closes the holds that ended by themselves and were never released.
func (f *follower) dropLapsed(who *actor, t int64) {
	who.holds = slices.DeleteFunc(who.holds, func(h openHold) bool {
		if h.until > t {
			return false
		}
		f.close(&h, never, h.gone)
		return true
	})
}

func (f *follower) extend(who *actor, r *record) {
	h := who.find(f.k.tokenOf(r), r.mode)
	if h == nil {
		f.extendUnknown(r)
		return
	}
	r.mode = h.mode // an extend says nothing of its own; a belief that it starts is of the hold's
	switch r.outcome {
	case history.OK:
		h.notices = append(h.notices, notice{r.ret, f.untilOf(r), r.detail})
		h.gone = max(h.gone, f.leaseEnd(r.ret, f.untilOf(r)))
		f.k.detailOf(r).role = nested
	case history.Unknown:
		h.gone = max(h.gone, f.leaseEnd(r.ret, r.ret))
	case history.LostHold, history.NotHeld:
		h.notices = append(h.notices, notice{at: r.ret, until: r.ret})
	}
}

// extendUnknown notes until when the server keeps what was extended, though no belief is left: one that waited for longer than the lease, and
// states no valid-until, ends before it begins, and a re-entry that is released then ends all that is known.
func (f *follower) extendUnknown(r *record) {
	if r.outcome == history.OK {
		f.k.detailOf(r).gone = f.leaseEnd(r.ret, f.untilOf(r))
	}
}

func (f *follower) release(who *actor, r *record) {
	who.settle(f, r.call)
	h := who.find(f.k.tokenOf(r), r.mode)
	if h == nil {
		f.k.cleanups = f.k.cleanups || who.unsure
		return
	}
	uncertain := r.outcome == history.Unknown || r.outcome == history.Fail
	h.loose = h.loose || uncertain
	h.depth--
	if r.outcome == history.NotHeld || r.outcome == history.LostHold {
		h.depth, h.loose, h.shaky = 0, false, false
	}
	if h.depth > 0 {
		f.k.reentries++
		return
	}
	gone := r.ret
	if h.loose || h.shaky {
		gone = max(gone, h.gone)
		if gone == never {
			f.k.orphans[h.grant] = r.ret
		}
		f.k.details.at(int(h.belief) - 1).released = !h.loose
	}
	f.close(h, r.call, gone)
	who.holds = slices.Delete(who.holds, who.index(h), who.index(h)+1)
}

func (w *actor) index(h *openHold) int {
	return slices.IndexFunc(w.holds, func(other openHold) bool { return other.grant == h.grant })
}

// settle applies what the client was told by time t.
func (w *actor) settle(f *follower, t int64) {
	for i := range w.holds {
		f.settle(&w.holds[i], t)
	}
}

func (f *follower) settle(h *openHold, t int64) {
	rest := h.notices[:0]
	for _, n := range h.notices {
		switch {
		case n.at > t:
			rest = append(rest, n)
		case n.detail == 0:
			h.until = min(h.until, n.until)
		case n.at <= h.until:
			h.until = n.until
		default: // too late: the belief had ended, and another starts
			f.k.details.at(int(h.belief) - 1).end = h.until
			f.k.details.at(int(n.detail) - 1).role = starts
			h.belief, h.until = n.detail, n.until
		}
	}
	h.notices = rest
}

// close ends a hold at the first of t and its until.
func (f *follower) close(h *openHold, t, gone int64) {
	f.settle(h, t)
	f.k.details.at(int(h.belief) - 1).end = min(t, h.until)
	f.k.details.at(int(h.belief) - 1).gone = gone
	f.k.details.at(int(h.grant) - 1).gone = gone
}

// leave closes what a client left open at the end of the history. The holder of a lock that never expires may be at work still,
// unless it is known to have crashed.
func (f *follower) leave(client uint32, who *actor) {
	crash, crashed := f.crash[f.a.clients.text(client)]
	for i := range who.holds {
		h := &who.holds[i]
		end := never
		if crashed && h.until == never && f.a.header.Lease != 0 {
			end = max(crash.Start, who.idleAt) // who dies renews no more, and nobody can tell it of its loss
		}
		f.close(h, end, h.gone)
		if crashed && h.gone == never {
			f.k.orphans[h.grant] = max(crash.Start, who.idleAt)
		}
	}
	if crashed {
		// What it was doing when it died was not recorded; it may have been an acquire.
		from := min(who.idleAt, crash.Start)
		f.k.ghosts = append(f.k.ghosts, ghost{from, crash.Start, f.leaseEnd(crash.Start, crash.Start)})
	}
}
