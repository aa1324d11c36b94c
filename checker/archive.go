package checker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/compact"
)

// errAssumption: a record breaks an assumption on which every judgement rests. A client did two things at once, a token was granted twice, or an
// interval ends before it starts.
var errAssumption = errors.New("broken assumption about the record")

// archive is a history in compact form, by key.
type archive struct {
	header  history.Header
	file    string // "" = not read from a file
	clients compact.Strings
	tokens  compact.Strings
	grantee compact.List[uint32] // by token: number+1 of the key on which it was granted last
	keys    []*keyLog
	byName  map[string]*keyLog
	lines   uint32
	holdOf  []uint32 // by position: number, among the details of its key, of the hold to which the operation belongs or which it begins; 0 = none
	ids     []uint64 // by position, from the first operation whose id is not its position; nil before that
}

// load reads the operations to their end. It needs 36 bytes of memory for each operation, 64 more for each grant, extend and write, and the bytes of the
// distinct clients, keys and tokens.
func load(ctx context.Context, in Input) (*archive, error) {
	a := &archive{header: in.Header, file: in.File, byName: map[string]*keyLog{}}
	var op history.Operation
	for {
		if a.lines%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		err := in.Ops.Next(&op)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = a.add(&op)
		}
		if err != nil {
			return nil, err
		}
	}
	rank := a.clients.Sort()
	for _, k := range a.keys {
		k.finish(a, rank)
	}
	a.holdOf = make([]uint32, a.lines)
	return a, nil
}

func (a *archive) add(op *history.Operation) error {
	a.lines++
	if op.Return < op.Call {
		return a.broken(a.lines, "return %d is before call %d", op.Return, op.Call)
	}
	k := a.key(op.Key)
	r := record{call: op.Call, ret: op.Return, client: a.clients.Number(op.Client), line: a.lines,
		op: op.Op, outcome: op.Outcome, mode: op.Mode, stated: statedMode(op)}
	if err := a.addDetail(k, &r, op); err != nil {
		return err
	}
	a.keepID(op.ID)
	k.add(r)
	return nil
}

// keepID stores an id that is not the operation's position; in lockbench's own histories ids are positions.
func (a *archive) keepID(id uint64) {
	if a.ids == nil && id == uint64(a.lines) {
		return
	}
	for n := uint64(len(a.ids)) + 1; n < uint64(a.lines); n++ {
		a.ids = append(a.ids, n)
	}
	a.ids = append(a.ids, id)
}

func (a *archive) key(name string) *keyLog {
	k := a.byName[name]
	if k == nil {
		k = &keyLog{name: name, number: len(a.keys), lastOK: math.MinInt64}
		a.keys = append(a.keys, k)
		a.byName[name] = k
	}
	return k
}

// addDetail stores what has no room in the record, for operations with a detail.
func (a *archive) addDetail(k *keyLog, r *record, op *history.Operation) error {
	var token uint32
	if op.Token != "" {
		token = a.tokens.Number(op.Token)
	}
	if !r.detailed() {
		r.detail = token
		return nil
	}
	d := detail{token: token, fence: op.Fence, until: op.ValidUntil}
	if op.Op == history.Write && op.HasValue {
		d.role, d.until, d.end = valued, op.Read, op.Wrote
	}
	if op.WasAsked() && r.granted() {
		d.rare = k.rares.Add(rare{asked: op.Asked, known: true})
	}
	r.detail = k.details.Add(d)
	if !r.granted() {
		return nil
	}
	k.lastOK = max(k.lastOK, r.call)
	k.longestWait = max(k.longestWait, r.ret-r.call)
	k.fenced = k.fenced || op.Fence != 0
	return a.checkToken(k, token, op)
}

// checkToken rejects a token that was granted twice on a key. It does not apply to re-entrant locks, where the owner is granted again under the same
// token.
func (a *archive) checkToken(k *keyLog, token uint32, op *history.Operation) error {
	if token == 0 || a.header.Kind == history.Reentrant {
		return nil
	}
	for a.grantee.Len() < token {
		a.grantee.Add(0)
	}
	last := a.grantee.At(token)
	if *last == uint32(k.number)+1 {
		return a.broken(a.lines, "token %q is granted a second time on key %q; a token names one grant", op.Token, op.Key)
	}
	*last = uint32(k.number) + 1
	return nil
}

// broken returns the error for an operation, given by position, that breaks an assumption. Operation n of a file is its line n+1.
func (a *archive) broken(line uint32, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if a.file != "" {
		return &history.SyntaxError{File: a.file, Line: int(line) + 1, Msg: msg, Err: errAssumption}
	}
	return fmt.Errorf("operation %d: %s: %w", line, msg, errAssumption)
}

// span returns the earliest call and the latest return of all operations.
func (a *archive) span() (first, last int64) {
	first, last = never, math.MinInt64
	for _, k := range a.keys {
		first, last = min(first, k.first()), max(last, k.last())
	}
	return first, last
}

// clientNames returns the clients with an operation.
func (a *archive) clientNames() map[string]bool {
	all := map[string]bool{}
	for n := range a.clients.Len() {
		all[a.clients.Text(n+1)] = true
	}
	return all
}

// id returns the id of a record's operation.
func (a *archive) id(r *record) uint64 {
	if int(r.line) <= len(a.ids) {
		return a.ids[r.line-1]
	}
	return uint64(r.line)
}

// operation restores the operation of a record, except error texts, which are not kept.
func (a *archive) operation(k *keyLog, r *record) history.Operation {
	op := history.Operation{ID: a.id(r), Client: a.clients.Text(r.client), Op: r.op, Key: k.name, Mode: r.mode,
		Call: r.call, Return: r.ret, Outcome: r.outcome}
	if r.stated != 0 && r.op != history.Acquire {
		op.Mode = history.Mode(r.stated - 1)
		op.ModeNamed = op.Mode == history.Exclusive
	}
	token := r.detail
	if r.detailed() {
		d := k.detailOf(r)
		token, op.Fence = d.token, d.fence
		switch {
		case d.role == valued:
			op.HasValue, op.Read, op.Wrote = true, d.until, d.end
		case r.op != history.Write:
			op.ValidUntil = d.until
			if at, known := k.asked(r); known {
				op.SetAsked(at)
			}
		}
	}
	if token != 0 {
		op.Token = a.tokens.Text(token)
	}
	return op
}

// overlapping yields the records of k whose interval overlaps [from, to], in any order: the latest first, unless the record is out of order.
func (k *keyLog) overlapping(from, to int64) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for i := len(k.chunks) - 1; i >= 0; i-- {
			c := &k.chunks[i]
			if c.last < from {
				continue
			}
			n, _ := slices.BinarySearchFunc(c.records, to, calledBy)
			for n--; n >= 0; n-- {
				r := &c.records[n]
				if r.call < from && from-r.call > c.longest {
					break
				}
				if r.ret >= from && !yield(r) {
					return
				}
			}
		}
	}
}

// since yields the records of k that had not returned before an instant, by call.
func (k *keyLog) since(t int64) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, r := range slices.SortedFunc(k.overlapping(t, t), func(x, y *record) int { return byCall(*x, *y) }) {
			if !yield(r) {
				return
			}
		}
		var c cursor
		for i := range k.chunks {
			n, _ := slices.BinarySearchFunc(k.chunks[i].records, t, calledBy)
			if rest := k.chunks[i].records[n:]; len(rest) > 0 {
				c.waiting = append(c.waiting, chunk{records: rest})
			}
		}
		slices.SortStableFunc(c.waiting, byFirst)
		for r := c.next(); r != nil && yield(r); r = c.next() {
		}
	}
}

// calledBy is for a search of the first record that was called after an instant.
func calledBy(r record, t int64) int {
	if r.call <= t {
		return -1
	}
	return 1
}
