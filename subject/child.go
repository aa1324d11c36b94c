package subject

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/subprocess"
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
	local    *subprocess.Process // the launcher, or the child itself
	pid      atomic.Int64        // where it runs; 0 until it has said so
	calls    subprocess.Calls[Reply]

	mu      sync.Mutex // protects what follows
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
	c := &Child{command: command, client: o.Client, patience: cmp.Or(o.Patience, DefaultPatience), locks: map[string]*remote{}}
	hello := make(chan error, 1) // the first line, or why there is none
	c.local = subprocess.New(exec.Command("sh", "-c", command.shell()), subprocess.Listener{Max: maxLine, End: func(err error) { c.over(err, hello) },
		Line: func(n int, line []byte) error {
			if n == 1 {
				hello <- c.greeted(line)
				return nil
			}
			return c.hear(n-1, line)
		}})
	err := c.local.Start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", command, ErrGone, err)
	}
	if _, err = io.WriteString(c.local, command.opening()); err == nil {
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

// greeted takes in the first line, which the shell writes that becomes the child.
func (c *Child) greeted(line []byte) error {
	var first struct {
		PID int64 `json:"pid"`
	}
	if json.Unmarshal(line, &first) != nil || first.PID <= 0 {
		return fmt.Errorf("the shell said %s", excerpt(line))
	}
	c.pid.Store(first.PID)
	return nil
}

// over notes why the child says no more.
func (c *Child) over(err error, hello chan<- error) {
	switch {
	case err == nil:
		err = fmt.Errorf("%w: it ended", ErrGone)
	case errors.Is(err, subprocess.ErrTooLong):
		err = fmt.Errorf("%w: a line is longer than %d bytes", ErrProtocol, maxLine)
	}
	c.fail(err)
	select {
	case hello <- err:
	default: // it had begun
	}
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
	if key := r.Lost + r.Renewed; key != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l := c.locks[key]; l != nil {
			l.hear(r)
		}
		return nil
	}
	if !c.calls.Answer(r.ID, r) {
		return fmt.Errorf("%w: line %d of its output: no request %d is open; it wrote %s", ErrProtocol, n, r.ID, excerpt(line))
	}
	return nil
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
		case <-c.local.Ended():
			if how := c.local.Err(); how != nil && !c.local.Killed() {
				err = fmt.Errorf("%w (%w)", err, how)
			}
		case <-time.After(endLimit):
		}
	}
	words := " nothing"
	if said := c.local.LastWords(); said != "" {
		words = strings.ReplaceAll("\n"+said, "\n", "\n    ")
	}
	return fmt.Errorf("%s %s: %w; its last words on standard error:%s", c.client, c.command, err, words)
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
	if !c.Ended() {
		return nil
	}
	return c.explain()
}

// Ended reports whether the process has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.local.Gone():
		return true
	default:
		return false
	}
}

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

// call sends a request and waits for its reply. The end of ctx has an acquire cancelled where the child can, and does not end the wait:
// what the child has done is known when it says so.
func (c *Child) call(ctx context.Context, q Request) (Reply, error) {
	var reply <-chan Reply
	q.ID, reply = c.calls.Open()
	if err := c.local.Send(q); err != nil {
		select { // the reason is better than "broken pipe"
		case <-c.local.Gone():
		case <-time.After(endLimit):
		}
	}
	patience, done := time.NewTimer(c.patience+time.Duration(q.Wait*float64(time.Millisecond))), ctx.Done()
	defer patience.Stop()
	for {
		select {
		case r := <-reply:
			return r, nil
		case <-c.local.Gone():
			return Reply{}, c.lastWords(q)
		case <-done:
			done = nil
			if q.Op == OpAcquire && c.about.CanCancel() {
				_ = c.local.Send(Request{ID: c.calls.Number(), Op: OpCancel, Key: q.Key, Of: q.ID}) // one that is gone is seen above
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
	case <-c.local.Gone():
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
	c.local.CloseInput()
	select {
	case <-c.local.Gone():
	case <-time.After(endLimit):
		_ = c.signal("KILL") // as above
	}
	<-c.local.Ended()
	return nil
}

// signal sends a signal to the child and all that it has started; after STOP it fails unless the child is seen stopped.
func (c *Child) signal(name string) error {
	if !c.command.remote() {
		switch name {
		case "STOP":
			return c.local.Stop()
		case "CONT":
			return c.local.Continue()
		}
		return c.local.Kill()
	}
	if name == "KILL" { // the launcher goes, too, even when what it leads to cannot be reached
		defer func() { _ = c.local.Kill() }()
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
