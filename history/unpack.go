package history

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var errPacked = errors.New("not a packed record")

// unpacker decodes what a packer wrote. Like the scanner's, its errors are sticky.
type unpacker struct {
	buf   []byte
	last  int64
	texts textTable
	err   error
}

// unpack adds the records of a block to r. They do not share the block's memory.
func (r *Recorded) unpack(block []byte, client string) error {
	u := unpacker{buf: block}
	for len(u.buf) > 0 && u.err == nil {
		switch kind := u.byte(); {
		case kind&(packedKind|packedSource) == packedCommand|packedSource:
			digest, source := u.text(), u.text()
			if u.err == nil {
				r.Scripts[digest] = source
			}
		case kind&packedKind == packedCommand:
			if c := u.command(kind); u.err == nil {
				c.Client = client
				r.Commands = append(r.Commands, c)
			}
		default:
			if op := u.operation(kind); u.err == nil {
				op.Client, op.ID = client, uint64(len(r.Ops))+1
				r.Ops = append(r.Ops, op)
			}
		}
	}
	return u.err
}

func (u *unpacker) operation(kind byte) Operation {
	flags := u.byte()
	op := Operation{Op: Op(kind & packedKind), Outcome: Outcome(flags & packedOutcome), HasValue: flags&packedValue != 0, Key: u.text()}
	if kind&packedShared != 0 {
		op.Mode = Shared
	}
	op.ModeNamed = kind&packedNamed != 0
	op.Call = u.last + u.varint()
	op.Return = op.Call + u.varint()
	u.last = op.Return
	if kind&packedAsked != 0 {
		op.SetAsked(op.Call + u.varint())
	}
	if flags&packedToken != 0 {
		op.Token = u.text()
	}
	if flags&packedValid != 0 {
		op.ValidUntil = op.Return + u.varint()
	}
	if flags&packedFence != 0 {
		op.Fence = u.uvarint()
	}
	if op.HasValue {
		op.Read, op.Wrote = u.varint(), u.varint()
	}
	if op.Versioned = kind&packedVersion != 0; op.Versioned {
		op.ReadVersion, op.Version = u.uvarint(), u.uvarint()
	}
	if flags&packedErr != 0 {
		op.Err = u.text()
	}
	return op
}

func (u *unpacker) command(kind byte) Command {
	c := Command{Node: int(u.varint()), Conn: u.uvarint(), Sent: u.last + u.varint()}
	u.last = c.Sent
	if kind&packedReplied != 0 {
		c.Replied = c.Sent + u.varint()
		u.last = c.Replied
	}
	c.Name = u.text()
	if kind&packedScript != 0 {
		c.Script = u.text()
	}
	c.Cut = kind&packedCut != 0
	if n := u.uvarint(); n > uint64(len(u.buf)) { // each takes at least one byte
		u.fail("%d arguments", n)
	} else if n > 0 {
		c.Args = make([]string, n)
	}
	for i := range c.Args {
		c.Args[i] = u.text()
	}
	c.Reply = u.text()
	return c
}

func (u *unpacker) text() string {
	switch n := u.uvarint(); {
	case n == 0:
		return ""
	case n <= textSlots:
		return u.texts[n-1]
	case n-textSlots > uint64(len(u.buf)):
		u.fail("a text of %d bytes", n-textSlots)
		return ""
	default:
		s := string(u.buf[:n-textSlots])
		u.buf = u.buf[n-textSlots:]
		u.texts[slot(s)] = s
		return s
	}
}

func (u *unpacker) byte() byte {
	if len(u.buf) == 0 {
		u.fail("it ends early")
		return 0
	}
	b := u.buf[0]
	u.buf = u.buf[1:]
	return b
}

func (u *unpacker) varint() int64 {
	v, n := binary.Varint(u.buf)
	return v * int64(u.took(n))
}

func (u *unpacker) uvarint() uint64 {
	v, n := binary.Uvarint(u.buf)
	return v * uint64(u.took(n))
}

// took skips the n bytes of a number and returns 1; 0 if there was no number.
func (u *unpacker) took(n int) int {
	if n <= 0 {
		u.fail("a number of %d bytes", n)
		return 0
	}
	u.buf = u.buf[n:]
	return 1
}

func (u *unpacker) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf("%w: %s", errPacked, fmt.Sprintf(format, args...))
	}
	u.buf = nil
}

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
