package checker

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// add appends an operation; only its own fields are set.
func (k *keyLog) add(a *archive, o *op) {
	switch n := len(k.chunks); {
	case n == 0:
		k.chunks = append(k.chunks, chunk{})
	case len(k.chunks[n-1].records) == chunkSize:
		k.sort(a)
		k.chunks = append(k.chunks, chunk{records: make([]record, 0, chunkSize)})
	}
	r := record{call: o.call, line: o.line, ref: o.token,
		bits: o.client<<clientShift | uint32(o.stated)<<statedShift | uint32(o.mode)<<modeShift | uint32(o.outcome)<<outcomeShift | uint32(o.kind)}
	switch {
	case o.granted():
		r.ref = o.hold
	case o.detail != 0:
		r.ref = o.detail
	}
	r.took = tooLong
	if took := uint64(o.ret) - uint64(o.call); took < tooLong {
		r.took = uint32(took)
	} else {
		if k.long == nil {
			k.long = map[uint32]int64{}
		}
		k.long[o.line] = o.ret
	}
	c := &k.chunks[len(k.chunks)-1]
	c.records = append(c.records, r)
	c.last, c.longest = max(c.last, o.ret), max(c.longest, o.ret-o.call)
	k.counts[o.kind][o.outcome]++
}

// sort sorts the last chunk, to which nothing is added any more.
func (k *keyLog) sort(a *archive) {
	records := k.chunks[len(k.chunks)-1].records
	inOrder := func(x, y record) int { return a.order(k, &x, &y) }
	if !slices.IsSortedFunc(records, inOrder) {
		slices.SortFunc(records, inOrder)
	}
}

// order is the order of two records of a key: by call; of those with one call, as happens in
// virtual time, the one that returned first, and of those that returned together an acquire before
// what may be done under it and the release after that. The rest makes the order the same whatever
// the order of lines.
func (a *archive) order(k *keyLog, x, y *record) int {
	if x.call != y.call {
		return cmp.Compare(x.call, y.call)
	}
	if by := cmp.Compare(k.ret(x), k.ret(y)); by != 0 {
		return by
	}
	const outcomes = 1<<statedShift - 1
	return cmp.Or(cmp.Compare(rank[x.bits&7], rank[y.bits&7]), cmp.Compare(x.bits&outcomes, y.bits&outcomes),
		strings.Compare(a.clients[x.bits>>clientShift], a.clients[y.bits>>clientShift]), cmp.Compare(a.id(x.line), a.id(y.line)))
}

// rank is the order of operations with the same call and return.
var rank = [...]int{history.Acquire: 1, history.Use: 2, history.Write: 3, history.Extend: 4, history.Lost: 5, history.Release: 6, 7: 7}

// walk yields the places of a key's records by call. It merges the sorted chunks; a chunk joins the
// merge when time reaches it, so that a history which is nearly in order costs little.
func (a *archive) walk(k *keyLog) iter.Seq[uint32] {
	type run struct{ next, last uint32 } // the places of the rest of a chunk
	compare := func(x, y run) int { return a.order(k, k.at(x.next), k.at(y.next)) }
	return func(yield func(uint32) bool) {
		var waiting, active []run // by first record; waiting: not reached yet
		for i := range k.chunks {
			waiting = append(waiting, run{uint32(i*chunkSize) + 1, uint32(i*chunkSize + len(k.chunks[i].records))})
		}
		slices.SortFunc(waiting, compare)
		for len(waiting)+len(active) > 0 {
			if len(waiting) > 0 && (len(active) == 0 || compare(waiting[0], active[0]) < 0) {
				active = slices.Insert(active, 0, waiting[0])
				waiting = waiting[1:]
			}
			first := active[0]
			if !yield(first.next) {
				return
			}
			if first.next == first.last {
				active = slices.Delete(active, 0, 1)
				continue
			}
			first.next++
			at, _ := slices.BinarySearchFunc(active[1:], first, compare)
			copy(active, active[1:1+at])
			active[at] = first
		}
	}
}

// overlapping yields the operations whose interval overlaps [from, to], the latest first within a
// chunk.
func (k *keyLog) overlapping(from, to int64) iter.Seq[op] {
	return func(yield func(op) bool) {
		for i := len(k.chunks) - 1; i >= 0; i-- {
			c := &k.chunks[i]
			if c.last < from {
				continue
			}
			n := sort.Search(len(c.records), func(i int) bool { return c.records[i].call > to })
			for n--; n >= 0; n-- {
				r := &c.records[n]
				if r.call < from && from-r.call > c.longest {
					break
				}
				if k.ret(r) >= from && !yield(k.op(uint32(i*chunkSize+n)+1)) {
					return
				}
			}
		}
	}
}
