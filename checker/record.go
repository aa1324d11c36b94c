package checker

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/compact"
)

// record is an operation in 32 bytes without pointers. A detail has the fields that only grants, extends and writes have.
type record struct {
	call, ret int64
	client    uint32
	line      uint32 // its position among the operations of the history, from 1
	detail    uint32 // number of its detail where detailed, else of the token; 0 = none
	op        history.Op
	outcome   history.Outcome
	mode      history.Mode
	stated    stated
}

// stated is the mode that an operation states, plus 1; 0: none. The mode of one that states none is that of its hold.
type stated uint8

func statedMode(op *history.Operation) stated {
	if !op.ModeNamed && op.Mode != history.Shared {
		return 0
	}
	return stated(op.Mode) + 1
}

// fits reports whether an operation may mean a hold of the mode.
func (s stated) fits(m history.Mode) bool { return s == 0 || history.Mode(s-1) == m }

// granted reports whether the record is a successful acquire.
func (r *record) granted() bool { return r.op == history.Acquire && r.outcome == history.OK }

// saysGone reports whether an operation was answered that its hold is not there.
func (r *record) saysGone() bool {
	return r.outcome == history.NotHeld || r.outcome == history.LostHold
}

// detailed reports whether a record has a detail: grants, successful extends, and writes.
func (r *record) detailed() bool {
	return r.op == history.Write || r.outcome == history.OK && (r.op == history.Acquire || r.op == history.Extend)
}

// spanning reports whether an operation may overlap others of its client: a critical section, a watchdog's extend, a notice.
func (r *record) spanning() bool {
	return r.op == history.Use || r.op == history.Extend || r.op == history.Lost
}

// byCall orders records by time. In virtual time many share an instant: then the one that returned first comes first, and of those that returned
// together an acquire precedes what may be done under it, and a release follows that. The rest is by client, which no count may depend on: see
// archive.order and keyInput.byReturn.
func byCall(a, b record) int { return cmp.Or(byInstant(a, b), cmp.Compare(a.client, b.client)) }

// byInstant is byCall without the clients.
func byInstant(a, b record) int {
	switch {
	case a.call != b.call:
		return cmp.Compare(a.call, b.call)
	case a.ret != b.ret:
		return cmp.Compare(a.ret, b.ret)
	case a.op != b.op:
		return cmp.Compare(rank[a.op], rank[b.op])
	case a.outcome != b.outcome:
		return cmp.Compare(a.outcome, b.outcome)
	}
	return cmp.Compare(a.mode, b.mode)
}

// order is byCall, with ties between equal operations of one client on a key broken by token, one without it last, and by id: line numbers decide nothing.
func (a *archive) order(k *keyLog, x, y *record) int {
	if by := byCall(*x, *y); by != 0 {
		return by
	}
	switch t, u := k.tokenOf(x), k.tokenOf(y); {
	case t == u:
		return cmp.Compare(a.id(x), a.id(y))
	case t == 0:
		return 1
	case u == 0:
		return -1
	default:
		return strings.Compare(a.tokens.Text(t), a.tokens.Text(u))
	}
}

// rank is the order of operations with the same call and return.
var rank = [...]int{history.Acquire: 1, history.Use: 2, history.Write: 3, history.Extend: 4, history.Lost: 5, history.Release: 6}

// detail is the rest of a record. Which fields are used depends on the operation. The detail of the operation that began a hold stands for the hold.
type detail struct {
	fence uint64
	token uint32 // its number; 0 = none
	rare  uint32 // number of the rare fields
	role  role
	fresh bool // grants of a re-entrant lock: the server can have kept no hold of the client until then

	until   int64   // grants and extends: valid-until as recorded, 0 = none; writes: the value read
	end     int64   // grants and extends: the certain end of the belief that starts here; writes: the value stored
	gone    int64   // holds: the last instant at which the server can have kept it
	began   *record // beliefs: the operation at whose return it starts; holds: the one with which they began
	release *record // holds: the first release
}

// role is the role of a detail among the holds.
type role uint8

const (
	plain  role = iota
	starts      // a belief starts when the operation returns, and ends at end
	nested      // a re-entry or an extend within a belief
	valued      // a write whose read and wrote are known
)

// chunkSize is how many records are sorted at once. 2 MiB of them fit a processor's cache.
const chunkSize = 1 << 16

// chunk is a run of records, sorted by call once all are read.
type chunk struct {
	records []record
	last    int64 // latest return
	longest int64 // longest call-to-return
}

// keyLog is the record of one key.
type keyLog struct {
	name         string
	number       int
	chunks       []chunk
	details      compact.List[detail]
	rares        compact.List[rare]
	sharedWrites bool // there is a write under a hold that may be one of several
	doubts       bool // the end of some belief is unknown
	counts       [history.Lost + 1][history.Unknown + 1]int
	lastOK       int64 // latest call of a grant
	longestWait  int64 // longest call-to-return of a grant
	fenced       bool

	// Results of the pass over its holds.
	denied   map[*record]*detail           // by reply that says so: the hold that is gone although, as far as its client knew, its lease was running
	claims   map[*record]int64             // by accepted release or extend whose hold certainly no longer existed: when its lease ended; never if it had not, or for an operation of no hold
	anew     map[*record]*detail           // by extend that began a hold after a loss: the hold that it extended
	behind   map[*record][]history.Command // by operation that began a hold: commands that may have renewed it without telling
	cleanups bool                          // a client released after an acquire of unknown outcome
	orphans  map[uint32]int64              // by grant: from when on no client will release it, if no lease ends it either
	owned    map[uint32]int64              // by grant that was renewed after its release was called: until when it counts as its client's
	crashes  []crashHold                   // times in which a crashed client may have held without a record of it
}

func (k *keyLog) add(r record) {
	if n := len(k.chunks); n == 0 || len(k.chunks[n-1].records) == chunkSize {
		k.chunks = append(k.chunks, chunk{})
	}
	c := &k.chunks[len(k.chunks)-1]
	if len(k.chunks) > 1 && c.records == nil {
		c.records = make([]record, 0, chunkSize)
	}
	c.records = append(c.records, r)
	c.last, c.longest = max(c.last, r.ret), max(c.longest, plus(r.ret, -r.call))
	k.counts[r.op][r.outcome]++
}

// finish sorts the records, after the last add, and renumbers the clients.
func (k *keyLog) finish(a *archive, clients []uint32) {
	inOrder := func(x, y record) int { return a.order(k, &x, &y) }
	for _, c := range k.chunks {
		for i := range c.records {
			c.records[i].client = clients[c.records[i].client]
		}
		if !slices.IsSortedFunc(c.records, inOrder) {
			slices.SortFunc(c.records, inOrder)
		}
	}
	slices.SortStableFunc(k.chunks, byFirst)
}

func byFirst(a, b chunk) int { return byCall(a.records[0], b.records[0]) }

// detailOf returns the detail of a record that has one.
func (k *keyLog) detailOf(r *record) *detail { return k.details.At(r.detail) }

// operations returns how many operations the key has.
func (k *keyLog) operations() (n int) {
	for _, c := range k.chunks {
		n += len(c.records)
	}
	return n
}

// count returns how many operations had one of the given outcomes.
func (k *keyLog) count(op history.Op, outcomes ...history.Outcome) (n int) {
	for _, o := range outcomes {
		n += k.counts[op][o]
	}
	return n
}

// walk yields a key's records by call. A record is valid until the key's log changes.
func (k *keyLog) walk() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		c := cursor{waiting: k.chunks}
		for r := c.next(); r != nil && yield(r); r = c.next() {
		}
	}
}

// cursor merges the sorted chunks of a key. A chunk joins the merge when time reaches it, so that a history which is nearly in order costs little.
type cursor struct {
	waiting []chunk    // by first record, not reached yet
	active  [][]record // heap by first record
}

// next returns the next record, nil after the last.
func (c *cursor) next() *record {
	for len(c.waiting) > 0 && (len(c.active) == 0 || byCall(c.waiting[0].records[0], c.active[0][0]) < 0) {
		c.active = append(c.active, c.waiting[0].records)
		c.waiting = c.waiting[1:]
		heap.Fix(c, len(c.active)-1)
	}
	if len(c.active) == 0 {
		return nil
	}
	r := &c.active[0][0]
	if c.active[0] = c.active[0][1:]; len(c.active[0]) == 0 {
		last := len(c.active) - 1
		c.active[0] = c.active[last]
		c.active = c.active[:last]
	}
	if len(c.active) > 0 {
		heap.Fix(c, 0)
	}
	return r
}

// Len, Less and Swap are for package heap; chunks are added and removed by hand, which boxes none.
func (c *cursor) Len() int           { return len(c.active) }
func (c *cursor) Less(i, j int) bool { return byCall(c.active[i][0], c.active[j][0]) < 0 }
func (c *cursor) Swap(i, j int)      { c.active[i], c.active[j] = c.active[j], c.active[i] }
func (*cursor) Push(any)             {}
func (*cursor) Pop() any             { return nil }
