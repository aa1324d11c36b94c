//go:build unix

package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// processMachine is one redis-server process. It keeps its port and directory when it is restarted.
type processMachine struct {
	binary string
	args   []string
	dir    string
	port   int
	clock  string   // file of the shifted clock; "" without one
	env    []string // added to lockbench's environment

	mu    sync.Mutex // protects child, which a restart replaces
	child *child
}

const logName = "redis.log"

func (m *processMachine) start(context.Context) error {
	log, err := os.OpenFile(filepath.Join(m.dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(m.binary, m.args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), m.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	c, err := spawn(cmd)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.child = c
	return nil
}

// current returns the current process; nil if there was none.
func (m *processMachine) current() *child {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.child
}

func (m *processMachine) addr() string {
	if m.ended() != nil {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port))
}

func (m *processMachine) peer() (string, int) { return "127.0.0.1", m.port }
func (m *processMachine) clockPath() string   { return m.clock }

func (m *processMachine) identity() NodeInfo {
	if m.ended() != nil {
		return NodeInfo{}
	}
	return NodeInfo{PID: m.current().process.Pid}
}

func (m *processMachine) alive(context.Context) error { return m.ended() }

// ended returns nil while the process runs, and then an error with the last lines of its log.
func (m *processMachine) ended() error {
	c := m.current()
	if c == nil {
		return errors.New("not started")
	}
	select {
	case <-c.gone:
	default:
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(m.dir, logName))
	tail := log[max(0, len(log)-1000):]
	if bytes.Contains(tail, []byte("Address already in use")) {
		return fmt.Errorf("%w: %d", errPortTaken, m.port)
	}
	return fmt.Errorf("redis-server ended (%v); its log ends in:\n%s", c.err, tail)
}

// kill waits for the process.
func (m *processMachine) kill(ctx context.Context) error {
	c := m.current()
	if err := c.process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits until every thread has stopped, some time after the signal.
func (m *processMachine) pause(ctx context.Context) error {
	return m.signalUntil(ctx, syscall.SIGSTOP, "stop", true)
}

func (m *processMachine) resume(ctx context.Context) error {
	return m.signalUntil(ctx, syscall.SIGCONT, "run again", false)
}

func (m *processMachine) signalUntil(ctx context.Context, signal syscall.Signal, what string, stopped bool) error {
	c := m.current()
	if err := c.process.Signal(signal); err != nil {
		return err
	}
	return poll(ctx, what, func() (bool, error) {
		is, err := processStopped(c.process.Pid)
		return is == stopped, err
	})
}

func (m *processMachine) close() error {
	c := m.current()
	if c == nil {
		return nil
	}
	err := c.process.Kill()
	<-c.gone
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// child is a started process.
type child struct {
	process *os.Process
	gone    chan struct{} // closed when the process has been waited for
	err     error         // result of Wait, set before gone is closed
}

// spawn starts a command from a goroutine that keeps its OS thread until the command has ended: with Pdeathsig, Linux kills the child when
// the thread that started it ends.
func spawn(cmd *exec.Cmd) (*child, error) {
	c := &child{gone: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.gone)
		err := cmd.Start()
		c.process = cmd.Process
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-c.gone
		return nil, err
	}
	return c, nil
}
