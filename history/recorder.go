package history

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"sync"
)

// Recorder collects what the clients of a run did. Each client has its own ClientRecorder; the Recorder joins them.
// A run either spools, now and then, to files that can be read whenever the process is killed, or keeps everything in memory.
type Recorder struct {
	mu      sync.Mutex // guards clients, and makes one Spool follow another
	clients []*ClientRecorder
	written uint64 // operations that were spooled
}

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Client makes the recorder of one client. It may be called while others record.
func (r *Recorder) Client(name string) *ClientRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &ClientRecorder{name: name}
	r.clients = append(r.clients, c)
	return c
}

// Spool writes what was recorded since the last Spool, as whole frames each with a single write, and lets go of it. Whoever owns the
// run calls it periodically and once at the end, from one goroutine. commands may be nil: commands are then dropped.
// Operations are numbered from 1 in the order written.
func (r *Recorder) Spool(ops *Writer, commands *CommandWriter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.clients {
		errs = append(errs, r.spoolClient(c, ops, commands))
	}
	errs = append(errs, ops.Flush())
	if commands != nil {
		errs = append(errs, commands.Flush())
	}
	return errors.Join(errs...)
}

func (r *Recorder) spoolClient(c *ClientRecorder, w *Writer, commands *CommandWriter) error {
	ops, cmds := c.take()
	for i := range ops {
		r.written++
		ops[i].ID = r.written
		if err := w.Write(&ops[i]); err != nil {
			return err
		}
	}
	for i := range cmds {
		if commands == nil {
			break
		}
		if err := commands.Write(&cmds[i]); err != nil {
			return err
		}
	}
	return nil
}

// Operations gives what was recorded and not spooled, by call, numbered from 1 in that order. The caller owns the slice.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Operation
	for _, c := range r.clients {
		c.mu.Lock()
		all = append(all, c.ops...)
		c.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	for i := range all {
		all[i].ID = uint64(i) + 1
	}
	return all
}

// Commands gives the commands that were recorded and not spooled, by time sent. The caller owns the slice.
func (r *Recorder) Commands() []Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Command
	for _, c := range r.clients {
		c.mu.Lock()
		all = append(all, c.commands...)
		c.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b Command) int { return cmp.Compare(a.Sent, b.Sent) })
	return all
}

// ClientRecorder records what one client does. Its methods may be called from the client's goroutine and from what its lock
// runs in the background; it never touches another client's.
type ClientRecorder struct {
	mu       sync.Mutex // the client's own goroutine against its watchdog, its connections' readers, and Spool
	name     string
	ops      []Operation
	commands []Command
	idleOps  []Operation // the buffers that the last Spool emptied, so that recording does not allocate for ever
	idleCmds []Command
}

// Add records an operation; its Client is set here, its ID when the record is joined.
func (c *ClientRecorder) Add(op Operation) {
	op.Client = c.name
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops = append(c.ops, op)
}

// AddCommand records a command; its Client is set here.
func (c *ClientRecorder) AddCommand(cmd Command) {
	cmd.Client = c.name
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append(c.commands, cmd)
}

// take hands out what was recorded. The slices are the caller's until the next take.
func (c *ClientRecorder) take() ([]Operation, []Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ops, cmds := c.ops, c.commands
	c.ops, c.commands = c.idleOps[:0], c.idleCmds[:0]
	c.idleOps, c.idleCmds = ops, cmds
	return ops, cmds
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
