package checker

import (
	"math"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// record is an operation in 24 bytes without pointers: a history of ten million must fit into
// memory. Everything else works on an op, which is unpacked.
type record struct {
	call int64
	took uint32 // nanoseconds from call to return; tooLong: see keyLog.long
	bits uint32 // client<<clientShift, and the fields below it
	line uint32 // position among the operations of the history, from 1
	// ref is a number. A grant has that of its hold, an ok extend or a write that of its entry in
	// keyLog; any other operation that of its hold if the bit belongs is set, else of its token.
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

// stated is the mode that an operation states, plus 1. 0: it states none, and fits a hold of any
// mode.
type stated uint8

// fits reports whether an operation can be about a hold of the mode.
func (s stated) fits(m history.Mode) bool { return s == 0 || history.Mode(s-1) == m }

// granted reports whether it is a successful acquire.
func (o *op) granted() bool { return o.kind == history.Acquire && o.outcome == history.OK }

// renewed reports whether it is a successful extend.
func (o *op) renewed() bool { return o.kind == history.Extend && o.outcome == history.OK }

// saysGone reports whether it was answered that its hold is not there.
func (o *op) saysGone() bool {
	return o.outcome == history.NotHeld || o.outcome == history.LostHold
}

// insert adds an operation to a list that is ordered by return.
func insert(open []op, o *op) []op {
	return slices.Insert(open, sort.Search(len(open), func(i int) bool { return open[i].ret > o.ret }), *o)
}

// never stands for an end that does not come.
const never int64 = math.MaxInt64

// hold is what findHolds found out about one hold, in 48 bytes without pointers.
type hold struct {
	began    uint32 // place of the operation that began it: a grant, or an extend after a loss
	release  uint32 // place of its first release; 0 = none
	token    uint32 // number
	rare     uint32 // number of its entry in keyLog.rares; 0 = none
	told     int64  // valid-until of the acquire; 0 = none
	belief   int64  // end of the first belief
	certain  int64  // end of certain if it is not released before
	possible int64  // end of possible
}

// rare is what few holds have.
type rare struct {
	asked  int64
	known  bool // asked was recorded
	nested bool // it may re-enter another hold of its client
	fence  uint64
	// owned is when the hold is over at the latest if renewals for nobody (see forNobody) are left
	// out. 0: there were none.
	owned int64
}

// extend is what an ok extend has beside its record.
type extend struct {
	token, hold uint32 // numbers
	told        int64  // valid-until; 0 = none
	end         int64  // end of the belief that starts when it returns; 0 = none does
}

// write is what a write has beside its record.
type write struct {
	fence                uint64
	read, wrote          int64
	readVersion, version uint64 // version: 0 = not recorded
	hold                 uint32 // in which it lies; 0 = none
	valued               bool   // read and wrote were recorded
	known                bool   // readVersion was recorded
}

// versioned reports whether the store counted the versions that a write read and made.
func (w *write) versioned() bool { return w.known && w.version != 0 }

// ghost is a hold that may exist although no reply says so. An acquire of unknown outcome makes
// one, an acquire that failed while a fault met it, and a crash of a client that was doing
// something. A ghost is possible, never certain. It ends a lease and the slack after the next
// answer that its client got; one of unknown outcome without such an answer never ends.
type ghost struct {
	client   uint32
	mode     history.Mode
	from, to int64
	// died is when its client gave up or died, or last renewed it together with another hold.
	died   int64
	failed bool // the acquire was answered: its own client knows that it does not hold
}

// haunting says until when ghosts are possible.
type haunting struct {
	unknown int64  // those of unknown outcome
	failed  latest // those that failed, by client
}

// chunkSize is how many records are sorted at once. 1.5 MiB of them fit a processor's cache.
const chunkSize = 1 << 16

// chunk is a run of records, sorted by call once it is full, or all are read.
type chunk struct {
	records []record
	last    int64 // latest return
	longest int64 // longest call-to-return
}

// keyLog is the record of one key, and what findHolds found in it.
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
	fenced  bool // a grant had a fence

	ghosts []ghost // by from
	// haunted[i] says, by mode, until when any of ghosts[:i+1] is possible.
	haunted [][2]haunting
	// late has the lines of accepted releases and extends whose hold was not possible when they were
	// called.
	late map[uint32]bool
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

// assign records to which hold an operation belongs. One that states no mode gets the hold's.
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
