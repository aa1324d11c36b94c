package history

import "encoding/binary"

// packer turns what one client does into a few bytes a record: a clock difference here, a reference to a text there. It is what a
// client's hot path pays for its record, so it allocates nothing but its buffer; JSON is made of it when nobody is being measured.
//
// A record is one byte of kind and flags and then its fields, in the order in which packer writes and unpacker reads them. Instants are
// differences from the instant before; texts are new, or stand in a table that both sides keep alike.
type packer struct {
	buf   []byte
	last  int64 // the latest instant written
	texts textTable
}

// textTable remembers texts by a slot that is computed from the text itself. A text that finds another in its slot replaces it.
type textTable [textSlots]string

const textSlots = 64

// slot spreads what a run repeats (keys, commands, script names) and what it does not (tokens) alike. s is not empty.
func slot(s string) int {
	return (len(s)*5 + int(s[0])*7 + int(s[len(s)/2])*11 + int(s[len(s)-1])*31) % textSlots
}

// Kinds of record are the numbers of the operations, one for a command and one for the source of a script; the flags stand above them.
const (
	packedCommand = 7
	packedKind    = 7
	packedShared  = 1 << 3 // operation: its mode
	packedAsked   = 1 << 4 // operation: it says when the granted try began
	packedNamed   = 1 << 5 // operation: its mode Exclusive was named
	packedReplied = 1 << 3 // command: a reply was seen
	packedScript  = 1 << 4 // command: it runs a script
	packedCut     = 1 << 5 // command: it is not whole
	packedSource  = 1 << 6 // command: it is none, but the source of a script
)

// The flags of an operation's second byte, above its outcome.
const (
	packedOutcome = 7
	packedValue   = 1 << (2 + iota)
	packedErr
	packedValid
	packedFence
	packedToken
)

// reset empties the packer for a block that can be understood by itself; buf is what it writes behind.
func (p *packer) reset(buf []byte) { *p = packer{buf: buf} }

func (p *packer) operation(op *Operation) {
	b := append(p.buf, byte(op.Op)|operationKind(op), byte(op.Outcome)|operationFlags(op))
	b = p.text(b, op.Key)
	b = binary.AppendVarint(b, op.Call-p.last)
	b = binary.AppendVarint(b, op.Return-op.Call)
	p.last = op.Return
	if op.Asked != 0 {
		b = binary.AppendVarint(b, op.Asked-op.Call)
	}
	if op.Token != "" {
		b = p.text(b, op.Token)
	}
	if op.ValidUntil != 0 {
		b = binary.AppendVarint(b, op.ValidUntil-op.Return)
	}
	if op.Fence != 0 {
		b = binary.AppendUvarint(b, op.Fence)
	}
	if op.HasValue {
		b = binary.AppendVarint(b, op.Read)
		b = binary.AppendVarint(b, op.Wrote)
	}
	if op.Err != "" {
		b = p.text(b, op.Err)
	}
	p.buf = b
}

func operationKind(op *Operation) (flags byte) {
	if op.Mode == Shared {
		flags |= packedShared
	}
	if op.Asked != 0 {
		flags |= packedAsked
	}
	if op.ModeNamed {
		flags |= packedNamed
	}
	return flags
}

func operationFlags(op *Operation) (flags byte) {
	if op.HasValue {
		flags |= packedValue
	}
	if op.Err != "" {
		flags |= packedErr
	}
	if op.ValidUntil != 0 {
		flags |= packedValid
	}
	if op.Fence != 0 {
		flags |= packedFence
	}
	if op.Token != "" {
		flags |= packedToken
	}
	return flags
}

func (p *packer) command(c *Command) {
	kind := byte(packedCommand)
	if c.Replied != 0 {
		kind |= packedReplied
	}
	if c.Script != "" {
		kind |= packedScript
	}
	if c.Cut {
		kind |= packedCut
	}
	b := binary.AppendVarint(append(p.buf, kind), int64(c.Node))
	b = binary.AppendUvarint(b, c.Conn)
	b = binary.AppendVarint(b, c.Sent-p.last)
	p.last = c.Sent
	if c.Replied != 0 {
		b = binary.AppendVarint(b, c.Replied-c.Sent)
		p.last = c.Replied
	}
	b = p.text(b, c.Name)
	if c.Script != "" {
		b = p.text(b, c.Script)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Args)))
	for _, arg := range c.Args {
		b = p.text(b, arg)
	}
	p.buf = p.text(b, c.Reply)
}

func (p *packer) source(s Script) {
	p.buf = p.text(p.text(append(p.buf, packedCommand|packedSource), s.Digest), s.Source)
}

// text writes 0 for no text, 1 and up for one in the table, and behind those the length of one that follows.
func (p *packer) text(b []byte, s string) []byte {
	if s == "" {
		return append(b, 0)
	}
	at := slot(s)
	if p.texts[at] == s {
		return append(b, byte(at+1))
	}
	p.texts[at] = s
	return append(binary.AppendUvarint(b, uint64(textSlots+len(s))), s...)
}
