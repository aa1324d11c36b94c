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

// The errors of a child, wrapped with its command, what happened and the end of its standard error.
var (
	// ErrGone: the child could not be started, exited by itself, or did not answer in time.
	ErrGone = errors.New("the child process failed")
	// ErrProtocol: the child wrote a line that is no reply, or refused a request that every child
	// must support.
	ErrProtocol = errors.New("the child does not keep to the protocol")
)

// Limits of a child.
const (
	// defaultPatience is how long a child may take to start, and to reply beyond the wait that a
	// request allows.
	defaultPatience = 20 * time.Second
	maxLine         = 1 << 20 // bytes of one reply
	endLimit        = 2 * time.Second
)

// Child is one client's process. Its methods may be called from several goroutines.
type Child struct {
	Skew time.Duration // by which the clock that its lock is given is off; set before Open
	// SameClock says that the machine's clock is the child's as well, so that what its replies
	// count from is known exactly. It is set before Open.
	SameClock bool

	command  Command
	client   string
	patience time.Duration
	about    Description
	local    *subprocess.Process // the launcher, or the child itself
	pid      atomic.Int64        // its process id where it runs; 0 until it has sent it
	calls    subprocess.Calls[Reply]

	mu      sync.Mutex // protects what follows
	locks   map[string]*remote
	err     error     // why it ended; nil if we ended it
	asked   bool      // we asked for its end
	stopped bool      // by Stop
	moved   time.Time // when it was last stopped or continued
}

// Options configure a child.
type Options struct {
	Client   string        // its name in the run: c1, c2, …
	Patience time.Duration // 0 means defaultPatience
}

// Start starts a child and asks it to describe itself. It returns after the first reply, whatever
// it is, or with ErrGone or ErrProtocol. Close it.
func Start(ctx context.Context, command Command, o Options) (*Child, error) {
	c := &Child{command: command, client: o.Client, patience: cmp.Or(o.Patience, defaultPatience), locks: map[string]*remote{}}
	hello := make(chan error, 1) // the first line, or why there is none
	c.local = subprocess.New(exec.Command("sh", "-c", command.shell()), subprocess.Listener{Max: maxLine, End: func(err error) { c.over(err, hello) },
		Line: func(n int, line []byte) error {
			if n > 1 {
				return c.receive(n-1, line)
			}
			var first struct {
				PID int64 `json:"pid"`
			}
			if json.Unmarshal(line, &first) != nil || first.PID <= 0 {
				hello <- fmt.Errorf("the shell said %s", excerpt(line))
			} else {
				c.pid.Store(first.PID)
				hello <- nil
			}
			return nil
		}})
	err := c.local.Start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", command, ErrGone, err)
	}
	// the shell prints its process id and becomes the child
	opening := fmt.Sprintf(`printf '{"pid":%%d}\n' "$$"; exec sh -c '%s'`+"\n", strings.ReplaceAll(command.Exec, "'", `'\''`))
	if _, err = io.WriteString(c.local, opening); err == nil {
		select {
		case err = <-hello:
		case <-time.After(c.patience):
			err = fmt.Errorf("it did not start within %v", c.patience)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	var about Reply
	if err == nil { // a child that does not know the request has no special features
		about, err = c.call(ctx, Request{Op: opDescribe})
	}
	if c.about = about.Description; err == nil {
		if _, err = c.about.Variant(); err != nil {
			err = fmt.Errorf("%w: %w", ErrProtocol, err)
		}
	}
	if err != nil {
		c.fail(fmt.Errorf("%w: %w", ErrGone, err))
		return nil, errors.Join(c.explain(), c.Close())
	}
	return c, nil
}

// over records why the child's output has ended.
func (c *Child) over(err error, hello chan<- error) {
	switch {
	case err == nil:
		err = fmt.Errorf("%w: it exited", ErrGone)
	case errors.Is(err, subprocess.ErrTooLong):
		err = fmt.Errorf("%w: a line is longer than %d bytes", ErrProtocol, maxLine)
	}
	c.fail(err)
	select {
	case hello <- err:
	default: // it had started
	}
}

func (c *Child) receive(n int, line []byte) error {
	if len(line) == 0 {
		return nil
	}
	r, err := decodeReply(line)
	if err != nil {
		return fmt.Errorf("%w: line %d of its output: %w; it wrote %s", ErrProtocol, n, err, excerpt(line))
	}
	r.line = n
	if key := r.Lost + r.Renewed; key != "" {
		if err := r.checkWord(); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if l := c.locks[key]; l != nil {
			l.notify(r)
		}
		return nil
	}
	if !c.calls.Answer(r.ID, r) {
		return fmt.Errorf("%w: line %d of its output: no request %d is open; it wrote %s", ErrProtocol, n, r.ID, excerpt(line))
	}
	return nil
}

// excerpt returns the beginning of what a child wrote, quoted.
func excerpt(line []byte) string {
	const enough = 80
	if len(line) > enough {
		return fmt.Sprintf("%q…", line[:enough])
	}
	return fmt.Sprintf("%q", line)
}

// fail records why the child must end, and ends it. Only the first reason counts.
func (c *Child) fail(err error) {
	c.mu.Lock()
	if c.err == nil && !c.asked {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.signal("KILL") // it may have ended already
}

// explain returns why the child ended, with its command and the end of its standard error; nil if
// we ended it.
func (c *Child) explain() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrProtocol) {
		select { // its standard error may still be arriving
		case <-c.local.Ended():
			if how := c.local.Err(); how != nil && !c.local.Killed() {
				err = fmt.Errorf("%w (%w)", err, how)
			}
		case <-time.After(endLimit):
		}
	}
	words := "it wrote nothing to standard error"
	if said := c.local.LastWords(); said != "" {
		words = "its standard error ends:" + strings.ReplaceAll("\n"+said, "\n", "\n    ")
	}
	return fmt.Errorf("%s %s: %w; %s", c.client, c.command, err, words)
}

// About returns the child's description of its lock.
func (c *Child) About() Description { return c.about }

// Err returns why the child has ended by itself, with the end of its standard error; nil while it
// runs, and if its end was asked for.
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

// Echo measures the round trip to the child: the longest of n calls that do nothing.
func (c *Child) Echo(ctx context.Context, n int) (longest time.Duration, err error) {
	for range n {
		start := time.Now()
		if _, err := c.call(ctx, Request{Op: opDescribe}); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(start))
	}
	return longest, nil
}

// call sends a request and waits for its reply. When ctx ends it cancels an acquire, if the child
// can, and waits on: only the reply says what was done.
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
			if err := r.checkWord(); err != nil && q.Op != opDescribe {
				c.fail(fmt.Errorf("%w: %w", ErrProtocol, err))
				return Reply{}, c.explain()
			}
			return r, nil
		case <-c.local.Gone():
			return Reply{}, cmp.Or(c.explain(), fmt.Errorf("%s %s: %w", q.Op, q.Key, impls.ErrCrashed))
		case <-done:
			done = nil
			if q.Op == opAcquire && c.about.Has(CanCancel) {
				// if the child is gone, the select above sees it
				_ = c.local.Send(Request{ID: c.calls.Number(), Op: opCancel, Key: q.Key, Of: q.ID})
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

// excused returns for how much longer a child may be silent because it was stopped.
func (c *Child) excused() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return c.patience
	}
	return c.patience - time.Since(c.moved)
}

// Stop stops the child and the processes that it has started with SIGSTOP, and reports whether they
// were seen stopped.
func (c *Child) Stop() (confirmed bool) {
	c.mark(true)
	return c.signal("STOP") == nil
}

// Continue resumes a stopped child.
func (c *Child) Continue() error {
	defer c.mark(false)
	return c.signal("CONT")
}

func (c *Child) mark(stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.moved = stopped, time.Now()
}

// Kill kills the child and the processes that it started, and reports whether they were seen dead.
// Pending calls return impls.ErrCrashed.
func (c *Child) Kill() (confirmed bool) {
	c.dismiss()
	_ = c.signal("KILL") // it may have ended already
	select {
	case <-c.local.Gone():
		return true
	case <-time.After(c.patience):
		return false
	}
}

func (c *Child) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
}

// Close closes the child's input, at which it must exit, and kills it if it does not. It waits for
// all that was started for the child.
func (c *Child) Close() error {
	c.dismiss()
	c.local.CloseInput()
	select {
	case <-c.local.Gone():
	case <-time.After(endLimit):
		_ = c.signal("KILL") // it may have ended already
	}
	<-c.local.Ended()
	return nil
}

// signal sends a signal to the child and the processes that it has started; after STOP it fails
// unless the child is seen stopped.
func (c *Child) signal(name string) error {
	if strings.TrimSpace(c.command.Launch) == "" {
		switch name {
		case "STOP":
			return c.local.Stop()
		case "CONT":
			return c.local.Continue()
		}
		return c.local.Kill()
	}
	if name == "KILL" { // the launcher is killed too, even if the host behind it can't be reached
		defer func() { _ = c.local.Kill() }()
	}
	pid := c.pid.Load()
	if pid == 0 {
		return nil
	}
	script := fmt.Sprintf("kill -%s -%d 2>/dev/null || kill -%[1]s %[2]d || exit 1\n", name, pid) // its process group, or else it
	if name == "STOP" {
		script += fmt.Sprintf("n=0; while [ $n -lt 500 ]; do grep -q '^[^)]*) T' /proc/%d/stat && exit 0; n=$((n+1)); done; exit 1\n", pid)
	}
	far := exec.Command("sh", "-c", c.command.shell())
	far.Stdin = strings.NewReader(script)
	far.WaitDelay = endLimit
	return far.Run()
}
