package history

import "encoding/binary"

// packer encodes one client's records in a few bytes each. It runs on the client's hot path, so it
// allocates nothing but its buffer; the records become JSON after the measurement.
//
// A record is one byte of kind and flags, then its fields in a fixed order. A time is the
// difference from the time before it. A text is literal, or the index of a slot in a table that
// packer and unpacker update alike.
type packer struct {
	buf   []byte
	last  int64 // the last time written
	texts textTable
}

// textTable is a direct-mapped cache of texts: a text replaces another in its slot.
type textTable [textSlots]string

const textSlots = 64

// slot returns the slot of s, which is not empty. It must spread tokens, commands, keys and script
// names.
func slot(s string) int {
	return (len(s)*5 + int(s[0])*7 + int(s[len(s)/2])*11 + int(s[len(s)-1])*31) % textSlots
}

// The first byte of a record: its kind in the low bits (an Op, or packedCommand) and flags above.
const (
	packedCommand = 7
	packedKind    = 7
	packedShared  = 1 << 3 // operation: its mode
	packedAsked   = 1 << 4 // operation: Asked is set
	packedNamed   = 1 << 5 // operation: ModeNamed
	packedVersion = 1 << 7 // operation: Versioned
	packedReplied = 1 << 3 // command: it has a reply
	packedScript  = 1 << 4 // command: it runs a script
	packedCut     = 1 << 5 // command: it was truncated
	packedSource  = 1 << 6 // with packedCommand: the source of a script
)

// The second byte of an operation: its outcome in the low bits and flags above.
const (
	packedOutcome = 7
	packedValue   = 1 << (2 + iota)
	packedErr
	packedValid
	packedFence
	packedToken
)

// reset starts a new block, independent of earlier ones; records are appended to buf.
func (p *packer) reset(buf []byte) { *p = packer{buf: buf} }

func (p *packer) operation(op *Operation) {
	b := append(p.buf, byte(op.Op)|operationKind(op), byte(op.Outcome)|operationFlags(op))
	b = p.text(b, op.Key)
	b = binary.AppendVarint(b, op.Call-p.last)
	b = binary.AppendVarint(b, op.Return-op.Call)
	p.last = op.Return
	if op.WasAsked() {
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
	if op.Versioned {
		b = binary.AppendUvarint(b, op.ReadVersion)
		b = binary.AppendUvarint(b, op.Version)
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
	if op.WasAsked() {
		flags |= packedAsked
	}
	if op.ModeNamed {
		flags |= packedNamed
	}
	if op.Versioned {
		flags |= packedVersion
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

// text appends 0 for "", a slot+1 for a text in the table, and textSlots+length before a literal
// text.
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
