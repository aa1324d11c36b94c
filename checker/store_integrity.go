package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// storeIntegrity: the guarded store shows no lost update and has accepted no stale write.
//
// Lost update: no order of the writes is a chain; see chain. The values of the store before the first write and at the end, if known, are part of the
// chain.
//
// Stale write: one accepted with a fence below that of a write which had returned before, or of the client's own last write, or which precedes it in
// every chain; or one under a hold that the server can no longer have kept at the write's call, if a write had returned under a hold requested after
// its own was granted.
//
// An opportunity is an accepted write under an exclusive hold of a lock with one permit, or outside any hold. If there are writes under shared holds,
// or under holds of which several may exist, no chain is judged.
//
// Limits: when values repeat, a lost update can hide behind a write that happens to restore the value.
type storeIntegrity struct {
	tally
	chain   *chain
	lenient *chain           // with the clock error; nil if there is none
	losses  int              // lost updates that remain with the clock error
	late    map[*record]bool // stale writes: if they also lost an update, that is one violation
	again   map[*record]bool // those of them, within the clock error, that the chain shows too
	chained int              // violations shown by the chain
	behind  int              // of these, stale writes
	damage  Damage
	all     latest             // of the returned writes
	before  latest             // of those that returned before by any clock
	recent  []*record          // the other returned writes, by return
	mine    map[uint32]*latest // by client: of its own returned writes
	own     map[uint32]*record // by client: its last write, which has returned when it calls the next
}

// latest has those of some writes that show best that another is stale.
type latest struct {
	fence  *record // the one with the highest fence
	newest *record // the one whose hold was requested last
}

func (l *latest) add(d *keyInput, r *record) {
	if l.fence == nil || d.k.detailOf(r).fence > d.k.detailOf(l.fence).fence {
		l.fence = r
	}
	if h := d.holdOf(r); h != nil && (l.newest == nil || d.requested(r) > d.requested(l.newest)) {
		l.newest = r
	}
}

// requested returns the earliest instant at which the hold of a write can have been granted.
func (d *keyInput) requested(w *record) int64 { return d.k.from(d.holdOf(w).began) }

func newStoreIntegrity(d *keyInput) *storeIntegrity {
	n := d.k.count(history.Write, history.OK, history.Unknown)
	s := &storeIntegrity{tally: d.tallyOf(verdicts.StoreIntegrity, n > 0, "no writes to a guarded store were recorded"),
		late: map[*record]bool{}, again: map[*record]bool{}, mine: map[uint32]*latest{}, own: map[uint32]*record{}}
	s.chain = s.newChain(0)
	s.chain.lost, s.chain.stale = s.lost, s.overtaken
	if e := d.a.header.ClockError; e > 0 && d.obeys("clock-error") {
		s.lenient = s.newChain(e)
		s.lenient.lost, s.lenient.stale = func(*record, *record) { s.losses++ }, s.beyond
	}
	return s
}

func (s *storeIntegrity) newChain(clockError int64) *chain {
	c := &chain{k: s.d.k, error: clockError, ways: []way{{}}, any: !s.d.obeys("stale-fence"), known: s.knownBy(clockError)}
	if initial := s.d.opt.Store[s.d.k.name].Initial; initial != nil {
		c.ways[0] = way{started: true, initial: *initial, value: *initial}
	}
	return c
}

// knownBy returns whether a write is known to be stale by clocks that may differ so much.
func (s *storeIntegrity) knownBy(clockError int64) func(*record) bool {
	return func(w *record) bool {
		sure, known := s.late[w]
		return known && (sure || clockError == 0)
	}
}

func (s *storeIntegrity) chains() []*chain {
	if s.lenient == nil {
		return []*chain{s.chain}
	}
	return []*chain{s.chain, s.lenient}
}

func (s *storeIntegrity) called(r *record) {
	if !s.applies {
		return
	}
	for _, c := range s.chains() {
		c.place(r.call)
	}
	if r.op != history.Write || r.outcome != history.OK && r.outcome != history.Unknown {
		return
	}
	valued := s.d.k.detailOf(r).role == valued
	if r.outcome == history.Unknown {
		for _, c := range s.chains() {
			if s.d.obeys("unknown-write") {
				c.unsure = append(c.unsure, r)
			}
		}
		return
	}
	if !s.d.severalMayWrite(r) {
		if s.d.k.sharedWrites && valued {
			s.leave(r, sharedWrites)
		} else {
			s.opportunity(r.call, r.ret)
		}
		s.checkStale(r)
	}
	s.own[r.client] = r
	for _, c := range s.chains() {
		c.add(r)
	}
}

// severalMayWrite reports whether a write is under a hold of which several may exist at once.
func (d *keyInput) severalMayWrite(r *record) bool {
	h := d.holdOf(r)
	return h != nil && manyMayHold(d.a.header, h.began.mode)
}

func (s *storeIntegrity) returned(r *record) {
	if r.op != history.Write || r.outcome != history.OK {
		return
	}
	s.all.add(s.d, r)
	s.recent = append(s.recent, r)
	if s.d.a.header.ClockError > 0 {
		if s.mine[r.client] == nil {
			s.mine[r.client] = &latest{}
		}
		s.mine[r.client].add(s.d, r)
	}
}

// checkStale compares w first with the writes that came before it by any clock.
func (s *storeIntegrity) checkStale(w *record) {
	for len(s.recent) > 0 && plus(s.recent[0].ret, s.d.a.header.ClockError) < w.call {
		s.before.add(s.d, s.recent[0])
		s.recent = s.recent[1:]
	}
	own := s.own[w.client]
	if own != nil && own.call == w.ret {
		own = nil // at one instant: they have no order
	}
	var found *staleness
	for _, l := range []*latest{&s.before, s.mine[w.client], {fence: own}, &s.all} {
		for _, x := range s.after(w, l) {
			if found == nil || found.within && !x.within {
				found = &x
			}
		}
	}
	if found != nil {
		s.stale(w, found)
	}
}

// staleness says why a write is stale: because of an earlier write's fence, or because its hold was over and that of the earlier write is the later one.
type staleness struct {
	earlier *record
	flaw    writeFlaw
	within  bool // the clock error
}

func (s *storeIntegrity) after(w *record, l *latest) (found []staleness) {
	if l == nil {
		return nil
	}
	within := func(r *record, t int64) bool {
		return r.client != w.client && min(w.call-r.ret, t) <= s.d.a.header.ClockError
	}
	fence, h := s.d.k.detailOf(w).fence, s.d.holdOf(w)
	if f := l.fence; f != nil && fence != 0 && fence < s.d.k.detailOf(f).fence && s.d.obeys("stale-fence") {
		found = append(found, staleness{f, StaleFence, within(f, never)})
	}
	if n := l.newest; h != nil && n != nil && h.gone < w.call && s.d.obeys("stale-write") {
		if later := s.d.requested(n) - h.began.ret; later > 0 {
			found = append(found, staleness{n, StaleHold, within(n, later)})
		}
	}
	return found
}

// stale reports a stale write.
func (s *storeIntegrity) stale(w *record, by *staleness) {
	s.take(w)
	s.damage.StaleWrites++
	v := Violation{At: w.call, Clients: []string{s.d.clientName(by.earlier), s.d.clientName(w)}, Write: by.flaw, WithinClockError: by.within}
	s.found(v, func() Witness { return s.d.witness([]*record{by.earlier, w}, by.earlier, w) })
	if s.late[w] = !v.WithinClockError; v.WithinClockError {
		s.withdraw(1, withinClockError)
	}
}

// lost reports a write that overwrote a value which its writer had not read.
func (s *storeIntegrity) lost(last, w *record) {
	if s.d.k.sharedWrites || !s.d.obeys("lost-update") {
		return
	}
	s.damage.LostUpdates++
	if s.late[w] {
		return
	}
	s.byTheChain(w)
	v := Violation{At: w.call, Lasted: w.ret - w.call, Clients: []string{s.d.clientName(w)}, Write: LostUpdate, shownBy: byChain} // it may have taken effect at any time of the call
	records := []*record{w}
	if last != nil {
		v.Clients = []string{s.d.clientName(last), s.d.clientName(w)}
		records = []*record{last, w}
	}
	s.found(v, func() Witness { return s.d.witness(records, records...) })
}

// byTheChain counts a violation that the chain shows.
func (s *storeIntegrity) byTheChain(w *record) {
	s.chained++
	if sure, known := s.late[w]; known && !sure {
		s.again[w] = true
	}
}

// beyond takes note of a write that is stale whatever the clock error. If it was found to be stale within it, that counts now.
func (s *storeIntegrity) beyond(_, w *record) {
	if s.d.k.sharedWrites {
		return
	}
	switch sure, known := s.late[w]; {
	case !known:
		s.losses++
		return
	case sure:
		return
	}
	s.late[w] = true
	delete(s.again, w)
	s.within--
	s.violations++
	s.restore(1, withinClockError)
	for i := range s.kept {
		s.kept[i].WithinClockError = s.kept[i].WithinClockError && (s.kept[i].At != w.call || s.kept[i].shownBy == byChain)
	}
}

// overtaken reports a write that every order which is a chain places after one with a higher fence.
func (s *storeIntegrity) overtaken(earlier, w *record) {
	if s.d.k.sharedWrites {
		return
	}
	s.damage.StaleWrites++
	s.byTheChain(w)
	s.behind++
	v := Violation{At: w.call, Lasted: w.ret - w.call, Clients: []string{s.d.clientName(earlier), s.d.clientName(w)}, Write: StaleFence, shownBy: byChain}
	s.found(v, func() Witness { return s.d.witness([]*record{earlier, w}, earlier, w) })
}

func (s *storeIntegrity) done() {
	if !s.applies {
		return
	}
	for _, c := range s.chains() {
		c.place(never)
	}
	s.finish()
	s.withdraw(min(s.chain.gaveUp, s.opportunities), notSearched)
	if s.lenient != nil && s.losses == 0 && s.damage.LostUpdates+s.behind > 0 {
		s.within += s.chained
		s.violations -= s.chained
		for i := range s.kept {
			s.kept[i].WithinClockError = s.kept[i].WithinClockError || s.kept[i].shownBy == byChain
		}
		s.withdraw(min(s.chained-len(s.again), s.opportunities), withinClockError)
		s.damage.LostUpdates = 0
		s.damage.StaleWrites -= s.behind
		return
	}
	s.restore(len(s.again), withinClockError) // they are broken beyond it
}

// finish compares the chain with the store's final value, which writes of unknown outcome may have left.
func (s *storeIntegrity) finish() {
	end := s.chain.ways[0]
	if !end.started || s.d.k.sharedWrites {
		return
	}
	s.damage.Final = end.value
	if final := s.d.opt.Store[s.d.k.name].Final; final != nil {
		found, ok := s.chain.ending(*final)
		end, s.damage.Final = found, *final
		if !ok && end.last != nil && s.d.obeys("final-value") {
			s.damage.LostUpdates++
			s.losses++
			s.chained++
			v := Violation{At: end.last.ret, Clients: []string{s.d.clientName(end.last)}, Write: NotLast, shownBy: byChain}
			records := []*record{end.last}
			if w := s.chain.mayHaveLeft(*final); w != nil {
				v.Clients, records = append(v.Clients, s.d.clientName(w)), append(records, w)
			}
			s.found(v, func() Witness { return s.d.witness(records, records...) })
		}
	}
	s.damage.Expected = end.initial + s.chain.gained + end.gained
	s.damage.Missing = s.damage.Expected - s.damage.Final
}
