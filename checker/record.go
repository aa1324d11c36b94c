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

// stated is the mode that an operation states, plus 1; 0: none. One that states none fits a
// hold of any mode.
type stated uint8

func statedMode(o *history.Operation) stated {
	if !o.ModeNamed && o.Mode != history.Shared {
		return 0
	}
	return stated(o.Mode) + 1
}

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

// spans reports whether it may overlap others of its client: a critical section, a watchdog's
// extend, a notice.
func (o *op) spans() bool {
	return o.kind == history.Use || o.kind == history.Extend || o.kind == history.Lost
}

// insert puts an operation into a list of those that have not returned, by return.
func insert(open []op, o *op) []op {
	return slices.Insert(open, sort.Search(len(open), func(i int) bool { return open[i].ret > o.ret }), *o)
}

// never stands for an end that does not come.
const never int64 = math.MaxInt64

// hold is what the pass found of one hold, in 48 bytes without pointers.
type hold struct {
	began    uint32 // place of the operation that began it: a grant, or an extend after a loss
	release  uint32 // place of its first release; 0 = none
	token    uint32 // number
	rare     uint32 // number of what few holds have
	told     int64  // valid-until of the acquire; 0 = none
	belief   int64  // end of the first belief
	certain  int64  // end, but for the call of the release
	possible int64  // end
}

// rare is what few holds have.
type rare struct {
	asked  int64
	known  bool // asked is
	nested bool // it may re-enter another hold of its client
	fence  uint64
	// owned is the end of what is possible without the renewals for nobody. 0: there were none.
	owned int64
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

// ghost is a hold that may have begun although no reply says so: by an acquire of unknown outcome,
// or one that failed and that a fault met, or by what a client was doing when it crashed. It is
// possible, never certain. It ends a lease and the slack after the client's next answer of the
// server; one of unknown outcome without such an answer never does.
type ghost struct {
	client   uint32
	mode     history.Mode
	from, to int64
	// died is when the client that may have it is known to have given up, or died, or has last
	// renewed it with another hold.
	died   int64
	failed bool // it was answered, and is not possible for its own client
}

type haunting struct {
	unknown int64
	failed  latest
}

// found is what the pass finds in a key.
type found struct {
	ghosts []ghost // by from
	// haunted is, by mode, until when any of ghosts[:i+1] of unknown outcome is possible, and those
	// that failed, for other clients.
	haunted [][2]haunting
	// late are the accepted releases and extends, by line, whose hold was not possible when they
	// were called.
	late map[uint32]bool
	// fenced: a grant had a fence.
	fenced bool
}

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
