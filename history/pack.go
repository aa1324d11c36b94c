package history

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// packer packs one client's records into a few bytes each, or with unpacks reads back what another
// packed: its methods are the one description of both. It runs on the client's hot path, so it
// allocates nothing but its buffer; the records become JSON after the measurement.
//
// A record is its kind, then all its fields in a fixed order. Most times are differences from a
// time before. A text is literal, or the index of a slot in a table that both sides update alike.
type packer struct {
	buf     []byte // what was packed, or is left to be unpacked
	unpacks bool
	err     error // of unpacking, the first; it empties buf
	last    int64 // the last time passed
	// texts is a direct-mapped cache: a text replaces another in its slot.
	texts [textSlots]string
}

var errPacked = errors.New("not a packed record")

const textSlots = 64

// slot returns the slot of s, which is not empty. It must spread tokens, commands, keys and script
// names.
func slot(s string) int {
	return (len(s)*5 + int(s[0])*7 + int(s[len(s)/2])*11 + int(s[len(s)-1])*31) % textSlots
}

// The kind of a record, its first byte: an Op, or one of these.
const (
	packedCommand = byte(Lost) + 1 + iota
	packedScript
)

// Recorded is a recording in memory.
type Recorded struct {
	Header   Header
	Ops      []Operation // numbered from 1, each client's in the order of their returns
	Commands []Command
	Scripts  map[string]string // sources of the scripts that clients sent, by digest; not nil
	// Truncated reports that something is behind the last mark, as when the run was killed while it
	// wrote, or that even the head is incomplete; then all else is zero.
	Truncated bool
}

// unpack adds the records of a block to r. They do not share the block's memory.
func (r *Recorded) unpack(block []byte, client string) error {
	p := packer{buf: block, unpacks: true}
	for len(p.buf) > 0 {
		kind := p.buf[0]
		p.buf = p.buf[1:]
		switch {
		case kind == packedScript:
			var s Script
			if p.script(&s); p.err == nil {
				r.Scripts[s.Digest] = s.Source
			}
		case kind == packedCommand:
			c := Command{Client: client}
			if p.command(&c); p.err == nil {
				r.Commands = append(r.Commands, c)
			}
		case kind > byte(Lost):
			p.fail("a record of kind %d", kind)
		default:
			op := Operation{Client: client, ID: uint64(len(r.Ops)) + 1, Op: Op(kind)}
			if p.operation(&op); p.err == nil {
				r.Ops = append(r.Ops, op)
			}
		}
	}
	return p.err
}

// operation passes what follows the kind of an operation.
func (p *packer) operation(op *Operation) {
	head := uint64(op.Outcome)<<5 | bit(op.Mode == Shared) | bit(op.WasAsked())<<1 | bit(op.ModeNamed)<<2 | bit(op.HasValue)<<3 | bit(op.Versioned)<<4
	p.unsigned(&head)
	p.text(&op.Key)
	p.integer(&op.Call, p.last)
	p.integer(&op.Return, op.Call)
	p.last = op.Return
	p.text(&op.Token)
	p.integer(&op.ValidUntil, 0)
	p.unsigned(&op.Fence)
	p.text(&op.Err)
	if p.unpacks {
		if head>>5 > uint64(Unknown) {
			p.fail("an outcome %d", head>>5)
		}
		op.Outcome, op.Mode = Outcome(head>>5), Mode(head&1)
		op.ModeNamed, op.HasValue, op.Versioned = head>>2&1 != 0, head>>3&1 != 0, head>>4&1 != 0
	}
	if head>>1&1 != 0 {
		p.integer(&op.Asked, op.Call)
		op.SetAsked(op.Asked)
	}
	if op.HasValue {
		p.integer(&op.Read, 0)
		p.integer(&op.Wrote, 0)
	}
	if op.Versioned {
		p.unsigned(&op.ReadVersion)
		p.unsigned(&op.Version)
	}
}

func bit(set bool) (n uint64) {
	if set {
		n = 1
	}
	return n
}

// command passes what follows the kind of a command.
func (p *packer) command(c *Command) {
	node := int64(c.Node)
	head := uint64(len(c.Args))<<2 | bit(c.Replied != 0) | bit(c.Cut)<<1
	p.unsigned(&head)
	p.integer(&node, 0)
	p.unsigned(&c.Conn)
	p.integer(&c.Sent, p.last)
	if p.last = c.Sent; head&1 != 0 {
		p.integer(&c.Replied, c.Sent)
		p.last = c.Replied
	}
	p.text(&c.Name)
	p.text(&c.Script)
	if p.unpacks {
		c.Node, c.Cut = int(node), head>>1&1 != 0
		if n := head >> 2; n > uint64(len(p.buf)) { // each takes at least one byte
			p.fail("%d arguments", n)
		} else if n > 0 {
			c.Args = make([]string, n)
		}
	}
	for i := range c.Args {
		p.text(&c.Args[i])
	}
	p.text(&c.Reply)
}

// script passes what follows the kind of a script.
func (p *packer) script(s *Script) {
	p.text(&s.Digest)
	p.text(&s.Source)
}

// integer passes a number as its difference from another.
func (p *packer) integer(n *int64, from int64) {
	if !p.unpacks {
		p.buf = binary.AppendVarint(p.buf, *n-from)
		return
	}
	difference, size := binary.Varint(p.buf)
	*n = from + difference
	p.took(size)
}

func (p *packer) unsigned(n *uint64) {
	if !p.unpacks {
		p.buf = binary.AppendUvarint(p.buf, *n)
		return
	}
	var size int
	*n, size = binary.Uvarint(p.buf)
	p.took(size)
}

// text passes 0 for "", a slot+1 for a text in the table, and textSlots+length before a literal
// text.
func (p *packer) text(s *string) {
	if !p.unpacks {
		if *s == "" {
			p.buf = append(p.buf, 0)
			return
		}
		at := slot(*s)
		if p.texts[at] == *s {
			p.buf = append(p.buf, byte(at+1))
			return
		}
		p.texts[at] = *s
		p.buf = append(binary.AppendUvarint(p.buf, uint64(textSlots+len(*s))), *s...)
		return
	}
	var n uint64
	switch p.unsigned(&n); {
	case n == 0:
		*s = ""
	case n <= textSlots:
		*s = p.texts[n-1]
	case n-textSlots > uint64(len(p.buf)):
		p.fail("a text of %d bytes", n-textSlots)
	default:
		*s = string(p.buf[:n-textSlots])
		p.buf = p.buf[n-textSlots:]
		p.texts[slot(*s)] = *s
	}
}

// took skips the bytes of a number; a size of 0 or less is that of none.
func (p *packer) took(size int) {
	if size <= 0 {
		p.fail("a number of %d bytes", size)
		return
	}
	p.buf = p.buf[size:]
}

func (p *packer) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", errPacked, fmt.Sprintf(format, args...))
	}
	p.buf = nil
}
