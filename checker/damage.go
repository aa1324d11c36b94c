package checker

import "github.com/lockbench/lockbench/history"

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
