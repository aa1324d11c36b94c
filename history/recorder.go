package history

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Recorder collects what the clients of a run did. Each client has its own ClientRecorder; the Recorder joins them.
// A run either spills, now and then, to a recording that can be read whenever the process is killed, or keeps everything in memory.
type Recorder struct {
	mu      sync.Mutex // guards clients, and makes one Spill follow another
	clients []*ClientRecorder
}

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Client makes the recorder of one client. It may be called while others record.
func (r *Recorder) Client(name string) *ClientRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &ClientRecorder{name: name}
	c.pack.reset(beginBlock(nil, name))
	r.clients = append(r.clients, c)
	return c
}

// Spill writes what was recorded since the last Spill, a block for each client with a single write, and lets go of it. Whoever owns the
// run calls it periodically and once at the end, from one goroutine.
func (r *Recorder) Spill(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clients {
		block := c.take()
		if !endBlock(block, c.name) {
			continue
		}
		if _, err := w.Write(block); err != nil {
			return fmt.Errorf("spill the record of client %s: %w", c.name, err)
		}
	}
	return nil
}

// Recorded returns what was recorded and not spilled: operations by call, numbered from 1 in that order, and commands by time sent.
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
	return all
}

// ClientRecorder records what one client does. Its methods may be called from the client's goroutine and from what its lock
// runs in the background; it never touches another client's.
type ClientRecorder struct {
	mu   sync.Mutex // the client's own goroutine against its watchdog, its connections' readers, and Spill
	name string
	pack packer
	idle []byte // the buffer that the last Spill emptied, so that recording does not allocate for ever
}

// Add records an operation; its Client is set here, its ID when the record is joined.
func (c *ClientRecorder) Add(op Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.operation(&op)
}

// AddCommand records a command; its Client is set here. Nothing of it is kept: its Args may be used again.
func (c *ClientRecorder) AddCommand(cmd Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.command(&cmd)
}

// AddScript records the source of a script that the client sent. Once for each script is enough.
func (c *ClientRecorder) AddScript(s Script) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pack.source(s)
}

// take hands out the block of what was recorded. It is the caller's until the next take.
func (c *ClientRecorder) take() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	block := c.pack.buf
	c.pack.reset(beginBlock(c.idle, c.name))
	c.idle = block
	return block
}

// Slice is a history in memory that is read like a file.
type Slice struct {
	ops  []Operation
	next int
}

// NewSlice makes a source of the operations, which it does not copy.
func NewSlice(ops []Operation) *Slice { return &Slice{ops: ops} }

// Next copies the next operation into op, and answers io.EOF after the last.
func (s *Slice) Next(op *Operation) error {
	if s.next == len(s.ops) {
		return io.EOF
	}
	*op = s.ops[s.next]
	s.next++
	return nil
}
