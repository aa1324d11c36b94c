package checker

import (
	"encoding/binary"
	"hash/maphash"
)

// numbered numbers distinct strings. A map of ten million tokens takes almost a gigabyte; here a
// token takes its bytes and about 25 more.
type numbered struct {
	blocks [][]byte      // each string as its length (uvarint) and its bytes; blocks never move
	where  paged[uint64] // block<<32 | offset
	// open addressing: high half of the hash << 32 | number; 0 = empty; its length is a power of two;
	// only for number
	table []uint64
	seed  maphash.Seed // random, so that no file can make strings collide; numbers do not depend on it
}

const nameBlock = 1 << 18

// number returns the number of s.
func (n *numbered) number(s string) uint32 {
	if 4*int(n.where.n) >= 3*len(n.table) {
		n.grow()
	}
	h := maphash.String(n.seed, s)
	slot := n.slot(uint32(h >> 32))
	for ; n.table[slot] != 0; slot = (slot + 1) & (len(n.table) - 1) {
		// Reading the bytes costs a cache miss: compare them only if half of the hash matches.
		if e := n.table[slot]; e>>32 == h>>32 && string(n.bytes(uint32(e))) == s {
			return uint32(e)
		}
	}
	number := n.where.add(n.store(s))
	n.table[slot] = h>>32<<32 | uint64(number)
	return number
}

// slot returns where the search for a string starts.
func (n *numbered) slot(hash uint32) int { return int(hash) & (len(n.table) - 1) }

// text returns the string with a number.
func (n *numbered) text(id uint32) string { return string(n.bytes(id)) }

func (n *numbered) bytes(id uint32) []byte {
	at := *n.where.at(id)
	b := n.blocks[at>>32][uint32(at):]
	size, w := binary.Uvarint(b)
	return b[w : w+int(size)]
}

func (n *numbered) store(s string) uint64 {
	last := len(n.blocks) - 1
	if last < 0 || len(n.blocks[last])+len(s)+binary.MaxVarintLen32 > cap(n.blocks[last]) {
		size := nameBlock
		if last < 0 {
			size = 1 << 10 // most histories are small
		}
		n.blocks = append(n.blocks, make([]byte, 0, max(size, len(s)+binary.MaxVarintLen32)))
		last++
	}
	at := uint64(last)<<32 | uint64(len(n.blocks[last]))
	n.blocks[last] = append(binary.AppendUvarint(n.blocks[last], uint64(len(s))), s...)
	return at
}

func (n *numbered) grow() {
	old := n.table
	if old == nil {
		n.seed = maphash.MakeSeed()
	}
	n.table = make([]uint64, max(16, 2*len(old)))
	for _, e := range old {
		if e == 0 {
			continue
		}
		slot := n.slot(uint32(e >> 32))
		for n.table[slot] != 0 {
			slot = (slot + 1) & (len(n.table) - 1)
		}
		n.table[slot] = e
	}
}
