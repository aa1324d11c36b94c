package checker

import (
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/history"
)

// ErrAssumption means that a record breaks an assumption on which every judgement rests. A client
// did two things at once, a token was granted twice, an interval ends before it starts, or a
// release fits two holds.
var ErrAssumption = errors.New("broken assumption about the record")

// archive is a history in compact form, by key.
type archive struct {
	header  history.Header
	file    string            // "" = not read from a file
	numbers map[string]uint32 // of clients
	clients []string          // by number, from 1
	tokens  numbered
	grantee paged[uint32] // by token: number+1 of the key on which it was granted last
	keys    []*keyLog
	byName  map[string]*keyLog
	lines   uint32
	ids     []uint64 // by position, from the first operation whose id is not its position; nil before that
}

// id returns the id of the operation in a line.
func (a *archive) id(line uint32) uint64 {
	if int(line) <= len(a.ids) {
		return a.ids[line-1]
	}
	return uint64(line)
}

// wasGranted reports whether a grant on a key returned a token: what has it means no other hold.
// Not for re-entrant locks, whose owner is granted again under it.
func (a *archive) wasGranted(k *keyLog, token uint32) bool {
	return token != 0 && token <= a.grantee.n && *a.grantee.at(token) == uint32(k.number)+1
}

// broken returns the error for an operation, given by position, that breaks an assumption.
// Operation n of a file is its line n+1.
func (a *archive) broken(line uint32, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if a.file != "" {
		return &history.SyntaxError{File: a.file, Line: int(line) + 1, Msg: msg, Err: ErrAssumption}
	}
	return fmt.Errorf("operation %d: %s: %w", line, msg, ErrAssumption)
}

// client returns the name of an operation's client.
func (a *archive) client(o *op) string { return a.clients[o.client] }

// operation restores an operation, except error texts, which are not kept.
func (a *archive) operation(k *keyLog, o *op) history.Operation {
	out := history.Operation{ID: a.id(o.line), Client: a.client(o), Op: o.kind, Key: k.name, Mode: o.mode,
		Call: o.call, Return: o.ret, Outcome: o.outcome}
	if o.token != 0 {
		out.Token = a.tokens.text(o.token)
	}
	if o.stated != 0 && o.kind != history.Acquire {
		out.Mode = history.Mode(o.stated - 1)
		out.ModeNamed = out.Mode == history.Exclusive
	}
	switch {
	case o.granted():
		h := k.holds.at(o.hold)
		out.ValidUntil = h.told
		if h.rare != 0 {
			x := k.rares.at(h.rare)
			out.Fence = x.fence
			if x.known {
				out.SetAsked(x.asked)
			}
		}
	case o.renewed():
		out.ValidUntil = k.extends.at(o.detail).told
	case o.kind == history.Write:
		w := k.writes.at(o.detail)
		out.Fence, out.HasValue, out.Read, out.Wrote = w.fence, w.valued, w.read, w.wrote
		out.Versioned, out.ReadVersion, out.Version = w.known, w.readVersion, w.version
	}
	return out
}
