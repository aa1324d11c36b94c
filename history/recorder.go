package history

import "sync"

// Recorder collects what the clients of a run did. Each client has its own ClientRecorder; the Recorder joins them.
type Recorder struct {
	mu      sync.Mutex
	clients []*ClientRecorder
}

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder { return &Recorder{} }

// Client makes the recorder of one client. It may be called while others record.
func (r *Recorder) Client(name string) *ClientRecorder {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &ClientRecorder{name: name, first: uint64(len(r.clients)) << 40}
	r.clients = append(r.clients, c)
	return c
}

// ClientRecorder records what one client does. Its methods may be called from the client's goroutine and from what its lock
// runs in the background; it never touches another client's.
type ClientRecorder struct {
	mu       sync.Mutex // the client's own goroutine against its watchdog and its connections' readers
	name     string
	first    uint64
	ops      []Operation
	commands []Command
}

// Add records an operation; its ID and Client are set here.
func (c *ClientRecorder) Add(op Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	op.Client = c.name
	op.ID = c.first + uint64(len(c.ops)) + 1
	c.ops = append(c.ops, op)
}

// AddCommand records a command; its Client is set here.
func (c *ClientRecorder) AddCommand(cmd Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cmd.Client = c.name
	c.commands = append(c.commands, cmd)
}
