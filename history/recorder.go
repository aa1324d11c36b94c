package history

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Recorder collects the records of a run's clients, each of which has a ClientRecorder. A run
// either spills periodically to a recording, which stays readable if the process is killed, or
// keeps everything in memory. The zero value is ready for use.
type Recorder struct {
	mu      sync.Mutex // guards clients, and serializes Spill
	clients []*ClientRecorder
}

// Client returns a new recorder for one client. It may be called while other clients record.
func (r *Recorder) Client(name string) *ClientRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &ClientRecorder{name: name}
	c.pack.buf = beginBlock(nil, name)
	r.clients = append(r.clients, c)
	return c
}

// Spill writes what was recorded since the last Spill, one block and one write per client, and
// drops it from memory. One goroutine calls it periodically and once at the end. It ends with a
// mark: all operations that had returned by then, in nanoseconds on the run's base, are in the
// recording. The last call passes math.MaxInt64.
func (r *Recorder) Spill(w io.Writer, by int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clients {
		c.mu.Lock()
		block := c.pack.buf // stays valid until the next Spill
		c.pack = packer{buf: beginBlock(c.idle, c.name)}
		c.idle = block
		c.mu.Unlock()
		if len(block) == blockHead+len(c.name) { // without records
			continue
		}
		binary.LittleEndian.PutUint32(block, uint32(len(block)-blockHead))
		if _, err := w.Write(block); err != nil {
			return fmt.Errorf("spill the record of client %s: %w", c.name, err)
		}
	}
	mark := binary.LittleEndian.AppendUint32(nil, 8)
	mark = binary.LittleEndian.AppendUint32(mark, 0)
	mark = binary.LittleEndian.AppendUint64(mark, uint64(by))
	if _, err := w.Write(mark); err != nil {
		return fmt.Errorf("spill a mark: %w", err)
	}
	return nil
}

// Recorded returns what was recorded and not spilled: operations ordered by call and numbered from
// 1, commands ordered by time sent.
func (r *Recorder) Recorded() Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := Recorded{Scripts: map[string]string{}}
	for _, c := range r.clients {
		c.mu.Lock()
		_ = all.unpack(c.pack.buf[blockHead+len(c.name):], c.name) // it was packed here
		c.mu.Unlock()
	}
	slices.SortStableFunc(all.Ops, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(all.Commands, func(a, b Command) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range all.Ops {
		all.Ops[i].ID = uint64(i) + 1
	}
	LinkCommands(all.Ops, all.Commands)
	Settle(all.Ops, all.Commands, nil)
	return all
}

// ClientRecorder records what one client does. It is safe for concurrent use by the client and its
// lock's background goroutines.
type ClientRecorder struct {
	mu   sync.Mutex // guards pack and idle
	name string
	pack packer
	idle []byte // the other buffer, emptied by the last Spill
}

// Add records an operation. It ignores Client and ID, which Recorder sets.
func (c *ClientRecorder) Add(op Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.buf = append(c.pack.buf, byte(op.Op))
	c.pack.operation(&op)
}

// AddCommand records a command. It ignores Client, and does not retain Args.
func (c *ClientRecorder) AddCommand(cmd Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.buf = append(c.pack.buf, packedCommand)
	c.pack.command(&cmd)
}

// AddScript records the source of a script that the client sent. Once per script is enough.
func (c *ClientRecorder) AddScript(s Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.buf = append(c.pack.buf, packedScript)
	c.pack.script(&s)
}

// Slice is a source of operations in memory.
type Slice struct {
	ops  []Operation
	next int
}

// NewSlice returns a source of ops, which it does not copy.
func NewSlice(ops []Operation) *Slice { return &Slice{ops: ops} }

// Next copies the next operation into op; io.EOF after the last.
func (s *Slice) Next(op *Operation) error {
	if s.next == len(s.ops) {
		return io.EOF
	}
	*op = s.ops[s.next]
	s.next++
	return nil
}
