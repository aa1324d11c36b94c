package checker

import "encoding/binary"

// dictionary gives each distinct string a number, counted from 0. Ten million tokens cost a map of strings close to a gigabyte; here
// they cost their bytes and about 16 more each, none of which the garbage collector has to look at.
type dictionary struct {
	blocks [][]byte // each string as its length (uvarint) and its bytes; blocks never move
	at     []uint64 // by number: block<<32 | offset
	table  []uint32 // open addressing, number+1; 0 = empty; its length is a power of two
}

const nameBlock = 1 << 18

// number gives the number of s.
func (n *dictionary) number(s string) uint32 {
	if 4*len(n.at) >= 3*len(n.table) {
		n.grow()
	}
	slot := hash(s) & uint32(len(n.table)-1)
	for n.table[slot] != 0 {
		if id := n.table[slot] - 1; string(n.bytes(id)) == s {
			return id
		}
		slot = (slot + 1) & uint32(len(n.table)-1)
	}
	n.at = append(n.at, n.store(s))
	n.table[slot] = uint32(len(n.at))
	return uint32(len(n.at) - 1)
}

// text gives the string of a number.
func (n *dictionary) text(id uint32) string { return string(n.bytes(id)) }

func (n *dictionary) bytes(id uint32) []byte {
	b := n.blocks[n.at[id]>>32][uint32(n.at[id]):]
	size, w := binary.Uvarint(b)
	return b[w : w+int(size)]
}

func (n *dictionary) store(s string) uint64 {
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

func (n *dictionary) grow() {
	n.table = make([]uint32, max(16, 2*len(n.table)))
	for id := range n.at {
		slot := hash(n.text(uint32(id))) & uint32(len(n.table)-1)
		for n.table[slot] != 0 {
			slot = (slot + 1) & uint32(len(n.table)-1)
		}
		n.table[slot] = uint32(id) + 1
	}
}

// hash is FNV-1a with a final mix. Its collisions cost time, never correctness: number compares the bytes.
func hash(s string) uint32 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return uint32(h ^ h>>29 ^ h>>43)
}
