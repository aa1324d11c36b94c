package checker

import "github.com/lockbench/lockbench/history"

// writes are the writes to a key's guarded store.
type writes struct {
	in    *keyInput
	all   []op          // accepted ones, and those of unknown outcome
	wrote map[int64]int // by value: how often it was written, for all that is known
	lost  damaged
}

// of returns what a write has beside its record.
func (s *writes) of(o *op) *write { return s.in.k.writes.at(o.detail) }

// readBy returns what a write has read, as a version or a value; known is false if that does not
// tell which write it followed.
func (s *writes) readBy(o *op) (read uint64, known bool) {
	w := s.of(o)
	if w.versioned() {
		return w.readVersion, true
	}
	return uint64(w.read), w.valued && s.wrote[w.read] <= 1
}

// askedFor returns the earliest instant at which the hold of a write can have been granted.
func (s *writes) askedFor(o *op) int64 {
	began := s.in.k.began(o.hold)
	return s.in.k.asked(&began)
}

// several reports whether a write is under a hold of which several may exist at once.
func (s *writes) several(o *op) bool {
	return o.hold != 0 && manyMayHold(s.in.a.header, s.in.k.began(o.hold).mode)
}

// prefix sums up the writes that are earlier than another.
type prefix struct {
	s      *writes
	fence  op            // that with the highest fence
	newest op            // that whose hold was asked for last
	reader map[uint64]op // by what they read: those under an exclusive hold or none
}

func (p *prefix) add(o *op) {
	s := p.s
	if f := s.of(o).fence; f != 0 && (p.fence.line == 0 || f > s.of(&p.fence).fence) {
		p.fence = *o
	}
	if o.hold != 0 && (p.newest.line == 0 || s.askedFor(o) > s.askedFor(&p.newest)) {
		p.newest = *o
	}
}

// read notes what a write has read.
func (p *prefix) read(o *op) {
	if read, known := p.s.readBy(o); known && !p.s.several(o) {
		if _, again := p.reader[read]; !again {
			p.reader[read] = *o
		}
	}
}

type damaged struct {
	known bool
	Damage
}

// sum adds up what the store should hold. A write of unknown outcome counts if what it wrote was
// read, or is there at the end, and no other wrote it.
func (s *writes) sum(accepted []op) {
	ends := s.in.opt.Store[s.in.k.name]
	reads := map[int64]bool{}
	if ends.Final != nil {
		reads[*ends.Final] = true
	}
	for i := range accepted {
		reads[s.of(&accepted[i]).read] = true
	}
	d := &s.lost
	for i := range s.all {
		w := s.of(&s.all[i])
		if !w.valued || s.all[i].outcome == history.Unknown && (!reads[w.wrote] || s.wrote[w.wrote] > 1) {
			continue
		}
		if !d.known {
			d.known, d.Expected = true, w.read
		}
		d.Expected += w.wrote - w.read
	}
	if ends.Initial != nil && d.known && len(s.all) > 0 {
		d.Expected += *ends.Initial - s.of(&s.all[0]).read
	}
	if len(accepted) > 0 {
		d.Final = s.of(&accepted[len(accepted)-1]).wrote
	}
	if ends.Final != nil {
		d.Final = *ends.Final
	}
	d.Missing = d.Expected - d.Final
}

// damage returns what the store lost; nil if that is not known.
func (s *writes) damage() *Damage {
	if !s.lost.known {
		return nil
	}
	d := s.lost.Damage // a copy: the verdict must not keep the record in memory
	return &d
}
