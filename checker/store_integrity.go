package checker

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// storeIntegrity: the guarded store shows no lost update and has accepted no stale write.
//
// Lost update. Every write says which value its writer had read before and which it stored. In an order of the accepted writes in which each
// reads what the one before it stored, nothing is lost. That order is looked for step by step: the next write is one whose
// call is not after the earliest return of those left, and among these one that read the current value, if
// there is one. If the writes were done one after the other, as under a lock that works, the true next write is always such a
// candidate, so no false alarm is raised. If no candidate read the current value, the one that returned first overwrote a value that
// its writer had not read. Writes of unknown outcome are taken to have happened when they lead to a missing value or to the one found at the
// end, and only then; a way on which nothing is lost comes first.
//
// Stale write. Without fences: accepted although another client had been granted the lock exclusively after the writer's own grant and
// before the write. With fences: accepted after a write with a higher fence had returned, or a second time round; a store that
// compares fences never does that, and a lower fence accepted before the store has seen the higher one is not its fault.
//
// Opportunities are accepted writes.
//
// Limits: a writer that never held the lock is not judged stale. When values repeat, a lost update can hide behind a write that happens
// to restore the value. Semaphores of several permits guard no store.
type storeIntegrity struct {
	tally
	d       *docket
	open    []*record // accepted writes that are not placed yet
	unsure  []*record // writes of unknown outcome that are not used
	known   bool      // value means something
	value   int64
	initial int64
	gained  int64   // sum of wrote-read of the accepted writes
	last    *record // placed last
	damage  Damage
	grants  map[uint32]int64 // by client: return of its last exclusive grant
	newest  *record          // the last exclusive grant
	fence   fenceSeen
}

// fenceSeen is the highest fence of the accepted writes that have returned.
type fenceSeen struct {
	r     *record
	fence uint64
}

func newStoreIntegrity(d *docket) *storeIntegrity {
	s := &storeIntegrity{tally: tally{property: history.StoreIntegrity}, d: d, grants: map[uint32]int64{}}
	if initial := d.opt.Store[d.k.name].Initial; initial != nil {
		s.known, s.value, s.initial = true, *initial, *initial
	}
	return s
}

func (s *storeIntegrity) permits() bool {
	return s.d.a.header.Kind == history.Semaphore && s.d.a.header.Permits > 1
}

func (s *storeIntegrity) called(r *record) {
	if s.permits() {
		return
	}
	s.place(r.call)
	if r.op != history.Write || r.outcome != history.OK && r.outcome != history.Unknown {
		return
	}
	s.applies = true
	valued := s.d.k.detailOf(r).role == valued
	if r.outcome == history.Unknown {
		if valued {
			s.unsure = append(s.unsure, r)
		}
		return
	}
	s.opportunity(s.d, r.call, r.ret)
	s.checkStale(r)
	if valued {
		s.open = append(s.open, r)
	}
}

func (s *storeIntegrity) returned(r *record) {
	switch {
	case r.granted() && r.mode == history.Exclusive && s.d.k.detailOf(r).role == starts:
		s.grants[r.client] = r.ret
		s.newest = r
	case r.op == history.Write && r.outcome == history.OK:
		if f := s.d.k.detailOf(r).fence; f > s.fence.fence {
			s.fence = fenceSeen{r, f}
		}
	}
}

func (s *storeIntegrity) checkStale(w *record) {
	if f := s.d.k.detailOf(w).fence; f != 0 {
		if f < s.fence.fence && s.d.rules.on("stale-fence") {
			s.stale(w, s.fence.r)
		}
		return
	}
	granted, held := s.grants[w.client]
	if held && s.newest.client != w.client && granted < s.newest.ret && s.newest.ret < w.call && s.d.rules.on("stale-write") {
		s.stale(w, s.newest)
	}
}

// stale reports write w, which came after what r did.
func (s *storeIntegrity) stale(w, r *record) {
	s.damage.StaleWrites++
	v := Violation{At: w.call, Clients: []string{s.d.clientName(r), s.d.clientName(w)}, WithinClockError: w.call-r.ret < s.d.a.header.ClockError}
	s.found(s.d, v, func() []history.Operation { return s.around(r, w) })
}

// around gives the holds in which two operations happened, and the operations.
func (s *storeIntegrity) around(records ...*record) []history.Operation {
	var out []history.Operation
	for _, r := range records {
		out = append(out, s.d.holdAround(r)...)
		op := s.d.operation(r)
		out = append(out, op)
	}
	return distinct(out)
}

// distinct removes operations that occur twice.
func distinct(ops []history.Operation) []history.Operation {
	seen := map[history.Operation]bool{}
	return slices.DeleteFunc(ops, func(op history.Operation) bool {
		defer func() { seen[op] = true }()
		return seen[op]
	})
}

// place orders the writes of which nothing that is called from now on can come before.
func (s *storeIntegrity) place(now int64) {
	for len(s.open) > 0 {
		first := slices.MinFunc(s.open, byReturn)
		if first.ret >= now {
			return
		}
		s.next(first)
	}
}

func byReturn(a, b *record) int {
	if a.ret != b.ret {
		if a.ret < b.ret {
			return -1
		}
		return 1
	}
	return int(a.line) - int(b.line)
}

// next places one write: first, or one that may come before it and read the current value.
func (s *storeIntegrity) next(first *record) {
	chosen := s.reader(first)
	if chosen == nil {
		s.useUnsure(first)
		chosen = s.reader(first)
	}
	if chosen == nil {
		chosen = first
		if s.known && s.d.rules.on("lost-update") {
			s.lost(chosen)
		}
	}
	d := s.d.k.detailOf(chosen)
	if !s.known {
		s.known, s.initial = true, d.until
	}
	s.apply(chosen)
	s.open = slices.DeleteFunc(s.open, func(r *record) bool { return r == chosen })
}

// reader gives a write that may be next and read the current value.
func (s *storeIntegrity) reader(first *record) *record {
	var best *record
	for _, r := range s.open {
		if r.call <= first.ret && s.known && s.d.k.detailOf(r).until == s.value && (best == nil || byReturn(r, best) < 0) {
			best = r
		}
	}
	return best
}

// useUnsure applies the writes of unknown outcome that lead to what a candidate has read, if there is a way on which nothing is lost. Where something
// is lost in any case, that is a write which is known to have happened.
func (s *storeIntegrity) useUnsure(first *record) {
	if !s.known || !s.d.rules.on("unknown-write") {
		return
	}
	for _, r := range s.open {
		if r.call > first.ret {
			continue
		}
		if way, whole := s.way(s.d.k.detailOf(r).until, r.ret); whole {
			s.supply(way)
			return
		}
	}
}

// way gives writes of unknown outcome that end with the value to, each of which reads what the one before it stored, and tells whether the
// first of them reads the current value. An effect may come at any time after its call, so the order of the calls says nothing; only those
// called by a time count. Without a whole way it gives one whose first write overwrites a value unread; nil when nobody stored to.
func (s *storeIntegrity) way(to, by int64) (way []*record, whole bool) {
	tried := map[int64]bool{}
	var back func(to int64) ([]*record, bool)
	back = func(to int64) (way []*record, whole bool) {
		if to == s.value {
			return nil, true
		}
		tried[to] = true
		for _, u := range s.unsure {
			d := s.d.k.detailOf(u)
			if d.end != to || u.call > by || tried[d.until] {
				continue
			}
			before, whole := back(d.until)
			if whole {
				return append(before, u), true
			}
			if way == nil {
				way = append(before, u)
			}
		}
		return way, false
	}
	return back(to)
}

// supply applies writes of unknown outcome, one after the other.
func (s *storeIntegrity) supply(way []*record) {
	for _, u := range way {
		if s.d.k.detailOf(u).until != s.value && s.d.rules.on("lost-update") {
			s.lost(u)
		}
		s.apply(u)
	}
	s.unsure = slices.DeleteFunc(s.unsure, func(r *record) bool { return slices.Contains(way, r) })
}

func (s *storeIntegrity) apply(r *record) {
	d := s.d.k.detailOf(r)
	s.gained += d.end - d.until
	s.value = d.end
	s.last = r
}

// lost reports a write that overwrote a value which its writer had not read.
func (s *storeIntegrity) lost(w *record) {
	s.damage.LostUpdates++
	v := Violation{At: w.call, Lasted: w.ret - w.call, Clients: []string{s.d.clientName(w)}} // it may have arrived at any time of the call
	records := []*record{w}
	if s.last != nil {
		v.Clients = []string{s.d.clientName(s.last), s.d.clientName(w)}
		records = []*record{s.last, w}
		v.WithinClockError = w.call > s.last.ret && w.call-s.last.ret < s.d.a.header.ClockError
	}
	s.found(s.d, v, func() []history.Operation { return s.around(records...) })
}

func (s *storeIntegrity) done() {
	s.place(never)
	for len(s.open) > 0 {
		s.next(slices.MinFunc(s.open, byReturn))
	}
	switch {
	case s.permits():
		s.note = "a semaphore of several permits guards no store"
	case !s.applies:
		s.note = "no writes to a guarded store were recorded"
	}
	s.damage.Expected, s.damage.Final = s.initial+s.gained, s.value
	if final := s.d.opt.Store[s.d.k.name].Final; final != nil && s.known {
		s.final(*final)
	}
	s.damage.Missing = s.damage.Expected - s.damage.Final
}

// final compares with the value that was found in the store at the end, which writes of unknown outcome may have left there.
func (s *storeIntegrity) final(found int64) {
	way, _ := s.way(found, never)
	s.supply(way)
	s.damage.Expected = s.initial + s.gained
	s.damage.Final = found
	if found == s.value || s.last == nil || !s.d.rules.on("final-value") {
		return
	}
	s.damage.LostUpdates++
	v := Violation{At: s.last.ret, Clients: []string{s.d.clientName(s.last)}}
	s.found(s.d, v, func() []history.Operation { return s.around(s.last) })
}
