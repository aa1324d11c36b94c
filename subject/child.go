package subject

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// The errors of a child, wrapped with its command, what happened and its last words.
var (
	// ErrGone: the child could not be started, died by itself, or was silent for too long.
	ErrGone = errors.New("the child is gone")
	// ErrProtocol: the child wrote something that is no reply, or refused what every child must do.
	ErrProtocol = errors.New("the child does not keep to the protocol")
)

// Limits of a child.
const (
	// DefaultPatience is how long a child may take to start, and to answer beyond what it was told to wait.
	DefaultPatience = 20 * time.Second
	maxLine         = 1 << 20 // bytes of one reply
	endLimit        = 2 * time.Second
)

// Child is one client's process. Its methods may be called from several goroutines.
type Child struct {
	command  Command
	client   string
	patience time.Duration
	about    Description
	pid      atomic.Int64 // where it runs; 0 until it has said so
	in       io.WriteCloser
	local    *exec.Cmd
	words    tail          // standard error
	gone     chan struct{} // closed once the process has ended and its output is read
	ended    chan struct{} // closed once the local process has been waited for
	writing  sync.Mutex    // one line at a time

	mu      sync.Mutex // protects what follows
	last    int64
	waiting map[int64]chan Reply
	locks   map[string]*remote
	err     error     // why it ended; nil when that was asked for
	asked   bool      // its end was asked for
	stopped bool      // by Stop
	moved   time.Time // when it was last stopped or let go on
}

// Options are what a child is started with.
type Options struct {
	Client   string        // its name in the run: c1, c2, …
	Patience time.Duration // 0 means DefaultPatience
}

// Start starts a child and asks it to describe itself. It returns once the child has answered, whatever the answer, and ErrGone or
// ErrProtocol when it has not. Close must be called.
func Start(ctx context.Context, command Command, o Options) (*Child, error) {
	c := &Child{command: command, client: o.Client, patience: o.Patience, gone: make(chan struct{}), ended: make(chan struct{}),
		waiting: map[int64]chan Reply{}, locks: map[string]*remote{}}
	if c.patience == 0 {
		c.patience = DefaultPatience
	}
	out, err := c.spawn()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", command, ErrGone, err)
	}
	hello := make(chan error, 1)
	go c.listen(bufio.NewReaderSize(out, 64<<10), hello) // ends with the process' output; Close waits for it
	if _, err = io.WriteString(c.in, command.opening()); err == nil {
		err = c.await(ctx, hello)
	}
	if err == nil {
		err = c.describe(ctx)
	}
	if err != nil {
		c.fail(fmt.Errorf("%w: %w", ErrGone, err))
		return nil, errors.Join(c.explain(), c.Close())
	}
	return c, nil
}

// spawn starts the launcher with a goroutine that waits for it: where a child dies with its parent it dies with the thread that started
// it, so that the thread waits, too.
func (c *Child) spawn() (io.Reader, error) {
	c.local = exec.Command("sh", "-c", c.command.shell())
	c.local.Stderr, c.local.SysProcAttr = &c.words, ownGroup()
	c.local.WaitDelay = endLimit // a grandchild may keep standard error open
	out, err := c.local.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = c.local.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() { // ends with the process; Close waits for it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := c.local.Start()
		started <- err
		if err == nil {
			<-c.gone // Wait closes the pipe that listen reads
			_ = c.local.Wait()
		}
	}()
	return out, <-started
}

// await waits for the child's first line.
func (c *Child) await(ctx context.Context, hello <-chan error) error {
	t := time.NewTimer(c.patience)
	defer t.Stop()
	select {
	case err := <-hello:
		return err
	case <-t.C:
		return fmt.Errorf("it did not start within %v", c.patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen reads the child's output to its end.
func (c *Child) listen(out *bufio.Reader, hello chan<- error) {
	defer close(c.gone)
	line, err := readLine(out)
	var first struct {
		PID int `json:"pid"`
	}
	if err == nil && (json.Unmarshal(line, &first) != nil || first.PID <= 0) {
		err = fmt.Errorf("the shell said %s", excerpt(line))
	}
	c.pid.Store(int64(first.PID))
	hello <- err
	for n := 1; err == nil; n++ {
		if line, err = readLine(out); err == nil {
			err = c.hear(n, line)
		}
	}
	if errors.Is(err, ErrProtocol) {
		c.fail(err)
		_, _ = io.Copy(io.Discard, out) // until it is dead: it must not block on a full pipe
		return
	}
	c.fail(fmt.Errorf("%w: it ended", ErrGone))
}

// readLine reads a line of at most maxLine bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrProtocol, maxLine)
		case err == nil:
			return bytes.TrimSpace(line), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// hear takes in the n-th line of the child.
func (c *Child) hear(n int, line []byte) error {
	if len(line) == 0 {
		return nil
	}
	r, err := decodeReply(line)
	if err != nil {
		return fmt.Errorf("%w: line %d of its output: %w; it wrote %s", ErrProtocol, n, err, excerpt(line))
	}
	r.line = n
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Lost != "" || r.Renewed != "" {
		if l := c.locks[r.Lost+r.Renewed]; l != nil {
			l.hear(r)
		}
		return nil
	}
	if reply, waits := c.waiting[r.ID]; waits {
		delete(c.waiting, r.ID)
		reply <- r
		return nil
	}
	return fmt.Errorf("%w: line %d of its output: no request %d is open; it wrote %s", ErrProtocol, n, r.ID, excerpt(line))
}

// excerpt is the beginning of what a child wrote, quoted.
func excerpt(line []byte) string {
	const enough = 80
	if len(line) > enough {
		return fmt.Sprintf("%q…", line[:enough])
	}
	return fmt.Sprintf("%q", line)
}

// fail notes why the child is at its end, and ends it. Only the first reason counts.
func (c *Child) fail(err error) {
	c.mu.Lock()
	if c.err == nil && !c.asked {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.signal("KILL") // one that has ended is ended
}

// explain is why the child ended, with its command and its last words; nil when its end was asked for.
func (c *Child) explain() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrProtocol) {
		select { // its words may still be on their way
		case <-c.ended:
		case <-time.After(endLimit):
		}
		if state := c.local.ProcessState; closed(c.ended) && state != nil && !state.Success() && !strings.HasPrefix(state.String(), "signal: killed") {
			err = fmt.Errorf("%w (%s)", err, state)
		}
	}
	words := c.words.lines()
	if words == "" {
		words = " nothing"
	}
	return fmt.Errorf("%s %s: %w; its last words on standard error:%s", c.client, c.command, err, words)
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// describe asks the child what it can do. A child that does not know the request can nothing special.
func (c *Child) describe(ctx context.Context) error {
	r, err := c.call(ctx, Request{Op: OpDescribe})
	if err != nil {
		return err
	}
	c.about = r.Description
	if _, err := c.about.variant(); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return nil
}

// About is what the child says of its lock.
func (c *Child) About() Description { return c.about }

// Err is why the child has ended by itself, with its last words; nil while it lives, and when its end was asked for.
func (c *Child) Err() error {
	if !closed(c.gone) {
		return nil
	}
	return c.explain()
}

// Ended reports whether the process has ended.
func (c *Child) Ended() bool { return closed(c.gone) }

// Echo measures the way to the child and back: the longest of n calls that do nothing.
func (c *Child) Echo(ctx context.Context, n int) (longest time.Duration, err error) {
	for range n {
		start := time.Now()
		if _, err := c.call(ctx, Request{Op: OpDescribe}); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(start))
	}
	return longest, nil
}

// send writes a request.
func (c *Child) send(q Request) (int64, <-chan Reply, error) {
	reply := make(chan Reply, 1)
	c.mu.Lock()
	c.last++
	q.ID = c.last
	if q.Op != OpCancel {
		c.waiting[q.ID] = reply
	}
	c.mu.Unlock()
	line, err := json.Marshal(q)
	if err == nil {
		c.writing.Lock()
		_, err = c.in.Write(append(line, '\n'))
		c.writing.Unlock()
	}
	return q.ID, reply, err
}

// call sends a request and waits for its reply. The end of ctx has an acquire cancelled where the child can, and does not end the wait:
// what the child has done is known when it says so.
func (c *Child) call(ctx context.Context, q Request) (Reply, error) {
	id, reply, err := c.send(q)
	if err != nil {
		select { // the reason is better than "broken pipe"
		case <-c.gone:
		case <-time.After(endLimit):
		}
	}
	patience, done := time.NewTimer(c.patience+time.Duration(q.Wait*float64(time.Millisecond))), ctx.Done()
	defer patience.Stop()
	for {
		select {
		case r := <-reply:
			return r, nil
		case <-c.gone:
			return Reply{}, c.lastWords(q)
		case <-done:
			done = nil
			if q.Op == OpAcquire && c.about.CanCancel() {
				_, _, _ = c.send(Request{Op: OpCancel, Key: q.Key, Of: id})
			}
			patience.Reset(c.patience)
		case <-patience.C:
			if again := c.excused(); again > 0 {
				patience.Reset(again)
				continue
			}
			c.fail(fmt.Errorf("%w: it did not answer %q for %v", ErrGone, strings.TrimSpace(q.Op+" "+q.Key), c.patience))
			return Reply{}, c.explain()
		}
	}
}

// excused is for how much longer a child may be silent because it was stopped.
func (c *Child) excused() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return c.patience
	}
	return c.patience - time.Since(c.moved)
}

// lastWords is the error of a call to a child that has ended.
func (c *Child) lastWords(q Request) error {
	if err := c.explain(); err != nil {
		return err
	}
	return fmt.Errorf("%s %s: %w", q.Op, q.Key, impls.ErrCrashed)
}

// Stop stops the child and what it has started, as SIGSTOP does, and reports whether it was seen stopped.
func (c *Child) Stop() (confirmed bool) {
	c.mark(true)
	return c.signal("STOP") == nil
}

// Continue lets a stopped child go on.
func (c *Child) Continue() error {
	defer c.mark(false)
	return c.signal("CONT")
}

func (c *Child) mark(stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.moved = stopped, time.Now()
}

// Kill kills the child and what it has started, as SIGKILL does, and reports whether it was seen dead. Calls under way end with
// impls.ErrCrashed.
func (c *Child) Kill() (confirmed bool) {
	c.dismiss()
	_ = c.signal("KILL") // one that has ended is ended
	select {
	case <-c.gone:
		return true
	case <-time.After(c.patience):
		return false
	}
}

// dismiss notes that the end of the child is asked for.
func (c *Child) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
}

// Close ends the input of the child, which is its end, and kills it when it does not end by that. It waits for everything that was
// started for the child.
func (c *Child) Close() error {
	c.dismiss()
	_ = c.in.Close() // closed twice is closed
	select {
	case <-c.gone:
	case <-time.After(endLimit):
		_ = c.signal("KILL")
		<-c.gone
	}
	<-c.ended
	return nil
}

// signal sends a signal to the child and all that it has started; after STOP it fails unless the child is seen stopped.
func (c *Child) signal(name string) error {
	if c.command.remote() {
		if name == "KILL" { // the launcher goes, too, even when what it leads to cannot be reached
			defer signalGroup(c.local.Process.Pid, name)
		}
		pid := c.pid.Load()
		if pid == 0 {
			return nil
		}
		far := exec.Command("sh", "-c", c.command.shell())
		far.Stdin = strings.NewReader(signalling(pid, name))
		far.WaitDelay = endLimit
		return far.Run()
	}
	return signalGroup(c.local.Process.Pid, name)
}
