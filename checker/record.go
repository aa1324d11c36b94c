package checker

import (
	"cmp"
	"container/heap"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// record is an operation in 24 bytes without pointers: a history of ten million must fit into
// memory. Everything else works on an op, which is unpacked.
type record struct {
	call int64
	took uint32 // nanoseconds from call to return; tooLong: see keyLog.long
	bits uint32 // client<<clientShift, and the fields below it
	line uint32 // position among the operations of the history, from 1
	// ref is the number of the grant's hold, of the extend or of the write, see details; for other
	// operations of the hold that it belongs to (bit belongs), or else of its token.
	ref uint32
}

const tooLong = math.MaxUint32

// The fields of record.bits.
const (
	outcomeShift = 3
	modeShift    = 6
	statedShift  = 7 // two bits
	belongs      = 1 << 9
	named        = 1 << 10 // it has its hold's token
	clientShift  = 11
	maxClients   = 1<<(32-clientShift) - 1
)

// op is an operation of the history.
type op struct {
	call, ret int64
	place     uint32 // of its record
	line      uint32
	client    uint32
	hold      uint32 // number of the hold that it began or belongs to; 0 = none
	detail    uint32 // number of the extend or write; 0 = none
	token     uint32 // number; 0 = none
	kind      history.Op
	outcome   history.Outcome
	mode      history.Mode // of a use, extend or release: as stated
	stated    stated
}

// stated is the mode that an operation states, plus 1; 0: none. One that states none may mean a
// hold of any mode.
type stated uint8

func statedMode(o *history.Operation) stated {
	if !o.ModeNamed && o.Mode != history.Shared {
		return 0
	}
	return stated(o.Mode) + 1
}

// fits reports whether an operation may mean a hold of the mode.
func (s stated) fits(m history.Mode) bool { return s == 0 || history.Mode(s-1) == m }

// granted reports whether it is a successful acquire.
func (o *op) granted() bool { return o.kind == history.Acquire && o.outcome == history.OK }

// renewed reports whether it is a successful extend.
func (o *op) renewed() bool { return o.kind == history.Extend && o.outcome == history.OK }

// saysGone reports whether it was answered that its hold is not there.
func (o *op) saysGone() bool {
	return o.outcome == history.NotHeld || o.outcome == history.LostHold
}

// spans reports whether it may overlap others of its client: a critical section, a watchdog's
// extend, a notice.
func (o *op) spans() bool {
	return o.kind == history.Use || o.kind == history.Extend || o.kind == history.Lost
}

// insert puts an operation into a list of those that have not returned, by return.
func insert(open []op, o *op) []op {
	return slices.Insert(open, sort.Search(len(open), func(i int) bool { return open[i].ret > o.ret }), *o)
}

// extend is what a successful extend has beside its record.
type extend struct {
	token, hold uint32 // numbers
	told        int64  // valid-until; 0 = none
	end         int64  // if a belief starts when it returns: when that ends; else 0
}

// write is what a write has beside its record.
type write struct {
	fence                uint64
	read, wrote          int64
	readVersion, version uint64 // version: 0 = not recorded
	hold                 uint32 // in which it lies; 0 = none
	valued, known        bool   // read and wrote are; readVersion is
}

// versioned reports whether the store counted the versions that a write read and made.
func (w *write) versioned() bool { return w.known && w.version != 0 }

// chunkSize is how many records are sorted at once. 1.5 MiB of them fit a processor's cache.
const chunkSize = 1 << 16

// chunk is a run of records, sorted by call once it is full, or all are read.
type chunk struct {
	records []record
	last    int64 // latest return
	longest int64 // longest call-to-return
}

// keyLog is the record of one key, and what the pass over it found.
type keyLog struct {
	name    string
	number  int
	chunks  []chunk
	long    map[uint32]int64 // by line: the return of operations that took too long for a record
	holds   paged[hold]
	extends paged[extend]
	writes  paged[write]
	rares   paged[rare]
	counts  [history.Lost + 1][history.Unknown + 1]int

	found
}

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

// at returns the record at a place.
func (k *keyLog) at(place uint32) *record {
	return &k.chunks[(place-1)/chunkSize].records[(place-1)%chunkSize]
}

// ret returns when the operation of a record returned.
func (k *keyLog) ret(r *record) int64 {
	if r.took == tooLong {
		return k.long[r.line]
	}
	return r.call + int64(r.took)
}

// op unpacks the record at a place.
func (k *keyLog) op(place uint32) (o op) {
	k.unpack(&o, place)
	return o
}

// began unpacks the record of what began a hold.
func (k *keyLog) began(hold uint32) op { return k.op(k.holds.at(hold).began) }

func (k *keyLog) unpack(o *op, place uint32) {
	r := k.at(place)
	*o = op{call: r.call, ret: k.ret(r), place: place, line: r.line, client: r.bits >> clientShift,
		kind: history.Op(r.bits & 7), outcome: history.Outcome(r.bits >> outcomeShift & 7),
		mode: history.Mode(r.bits >> modeShift & 1), stated: stated(r.bits >> statedShift & 3)}
	switch {
	case o.granted():
		o.hold = r.ref
		o.token = k.holds.at(r.ref).token
	case o.renewed():
		x := k.extends.at(r.ref)
		o.detail, o.hold, o.token = r.ref, x.hold, x.token
	case o.kind == history.Write:
		o.detail, o.hold = r.ref, k.writes.at(r.ref).hold
	case r.bits&belongs == 0:
		o.token = r.ref
	default:
		o.hold = r.ref
		if r.bits&named != 0 {
			o.token = k.holds.at(r.ref).token
		}
	}
}

// assign records to which hold an operation belongs. A section or an extend that states no mode has
// the hold's.
func (k *keyLog) assign(o *op, hold uint32, mode history.Mode) {
	o.hold = hold
	r := k.at(o.place)
	if o.stated == 0 && o.kind != history.Acquire {
		o.mode = mode
		r.bits = r.bits&^(1<<modeShift) | uint32(mode)<<modeShift
	}
	switch {
	case o.renewed():
		k.extends.at(o.detail).hold = hold
	case o.kind == history.Write:
		k.writes.at(o.detail).hold = hold
	case o.token != 0 && o.token != k.holds.at(hold).token: // it belongs by default: keep its own token
	default:
		if o.token != 0 {
			r.bits |= named
		}
		r.bits, r.ref = r.bits|belongs, hold
	}
}

// count returns how many operations had one of the given outcomes.
func (k *keyLog) count(of history.Op, outcomes ...history.Outcome) (n int) {
	for _, o := range outcomes {
		n += k.counts[of][o]
	}
	return n
}

// first returns the earliest call on the key, which has at least one record.
func (k *keyLog) first() (t int64) {
	t = never
	for i := range k.chunks {
		t = min(t, k.chunks[i].records[0].call)
	}
	return t
}

// last returns the latest return on the key.
func (k *keyLog) last() (t int64) {
	for i := range k.chunks {
		t = max(t, k.chunks[i].last)
	}
	return t
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

// walk yields the places of a key's records by call.
func (a *archive) walk(k *keyLog) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		c := cursor{a: a, k: k}
		for i := range k.chunks {
			c.waiting = append(c.waiting, run{uint32(i*chunkSize) + 1, uint32(i*chunkSize + len(k.chunks[i].records))})
		}
		slices.SortFunc(c.waiting, c.compare)
		for place := c.next(); place != 0 && yield(place); place = c.next() {
		}
	}
}

// run is the places of the rest of a chunk.
type run struct{ next, last uint32 }

// cursor merges the sorted chunks of a key. A chunk joins the merge when time reaches it, so that a
// history which is nearly in order costs little.
type cursor struct {
	a       *archive
	k       *keyLog
	waiting []run // by first record, not reached yet
	active  []run // heap by first record
}

func (c *cursor) compare(x, y run) int { return c.a.order(c.k, c.k.at(x.next), c.k.at(y.next)) }

// next returns the place of the next record, 0 after the last.
func (c *cursor) next() uint32 {
	for len(c.waiting) > 0 && (len(c.active) == 0 || c.compare(c.waiting[0], c.active[0]) < 0) {
		c.active = append(c.active, c.waiting[0])
		c.waiting = c.waiting[1:]
		heap.Fix(c, len(c.active)-1)
	}
	if len(c.active) == 0 {
		return 0
	}
	place := c.active[0].next
	if c.active[0].next++; place == c.active[0].last {
		n := len(c.active) - 1
		c.active[0] = c.active[n]
		c.active = c.active[:n]
	}
	if len(c.active) > 1 {
		heap.Fix(c, 0)
	}
	return place
}

// Len, Less and Swap are for package heap; runs are added and removed by hand, which boxes none.
func (c *cursor) Len() int           { return len(c.active) }
func (c *cursor) Less(i, j int) bool { return c.compare(c.active[i], c.active[j]) < 0 }
func (c *cursor) Swap(i, j int)      { c.active[i], c.active[j] = c.active[j], c.active[i] }
func (*cursor) Push(any)             {}
func (*cursor) Pop() any             { return nil }

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
