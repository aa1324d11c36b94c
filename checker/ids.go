package checker

import (
	"math/bits"

	"github.com/lockbench/lockbench/history"
)

// ids keeps the id of each operation, by position from 1.
type ids struct {
	kept    []uint64 // from the first operation whose id is not its position; nil before that
	without []uint64 // a bit for each operation, set if it was given no id; as long as is needed
}

// add adds the id of the operation at the next position, and needs no memory as long as ids are positions.
func (s *ids) add(position uint32, op *history.Operation) {
	if op.Unnumbered {
		for int(position/64) >= len(s.without) {
			s.without = append(s.without, 0)
		}
		s.without[position/64] |= 1 << (position % 64)
	}
	if s.kept == nil && op.ID == uint64(position) {
		return
	}
	for n := uint64(len(s.kept)) + 1; n < uint64(position); n++ {
		s.kept = append(s.kept, n)
	}
	s.kept = append(s.kept, op.ID)
}

// at returns the id of the operation at a position.
func (s *ids) at(position uint32) uint64 {
	if int(position) <= len(s.kept) {
		return s.kept[position-1]
	}
	return uint64(position)
}

// given returns the id that an operation was given; 0 if none was.
func (s *ids) given(position uint32) uint64 {
	if at := int(position / 64); at < len(s.without) && s.without[at]>>(position%64)&1 != 0 {
		return 0
	}
	return s.at(position)
}

// repeated returns the positions of two operations that were given the same id; zeros if there are none. Each id marks the bit of its remainder, of 8 to
// 16 bits for each operation. Only ids whose bit was marked already are looked at more closely: few, because ids are mostly dense.
func (s *ids) repeated() (first, second uint32) {
	size := uint64(8) << bits.Len(uint(len(s.kept)))
	marks, suspects := make([]uint64, size/64+1), map[uint64]uint32{}
	for i := range s.kept {
		id := s.given(uint32(i) + 1)
		mark, bit := &marks[id%size/64], uint64(1)<<(id%64)
		if *mark&bit != 0 && id != 0 {
			suspects[id] = 0
		}
		*mark |= bit
	}
	if len(suspects) == 0 {
		return 0, 0
	}
	for i := range s.kept {
		position := uint32(i) + 1
		id := s.given(position)
		switch before, suspect := suspects[id]; {
		case before != 0:
			return before, position
		case suspect:
			suspects[id] = position
		}
	}
	return 0, 0
}
