package checker

import "github.com/lockbench/lockbench/history"

// prefix has what is needed of the writes before another.
type prefix struct {
	s      *storeIntegrity
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
func (s *storeIntegrity) sum(accepted []op) {
	ends := s.d.opt.Store[s.d.k.name]
	reads := map[int64]bool{}
	if ends.Final != nil {
		reads[*ends.Final] = true
	}
	for i := range accepted {
		reads[s.of(&accepted[i]).read] = true
	}
	d := &s.lost
	for i := range s.writes {
		w := s.of(&s.writes[i])
		if !w.valued || s.writes[i].outcome == history.Unknown && (!reads[w.wrote] || s.wrote[w.wrote] > 1) {
			continue
		}
		if !d.known {
			d.known, d.Expected = true, w.read
		}
		d.Expected += w.wrote - w.read
	}
	if ends.Initial != nil && d.known && len(s.writes) > 0 {
		d.Expected += *ends.Initial - s.of(&s.writes[0]).read
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
func (s *storeIntegrity) damage() *Damage {
	if !s.lost.known {
		return nil
	}
	d := s.lost.Damage // a copy: the verdict must not keep the record in memory
	return &d
}
