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
	"strconv"
	"sync"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/subprocess"
)

// processMachine is one redis-server process. It keeps its port and directory when it is restarted.
type processMachine struct {
	binary string
	args   []string
	dir    string
	port   int
	clock  string   // file of the shifted clock; "" without one
	env    []string // added to lockbench's environment

	mu    sync.Mutex // guards child, which a restart replaces
	child *subprocess.Process
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
	c := subprocess.New(cmd, subprocess.Listener{})
	if err := c.Start(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.child = c
	return nil
}

// current returns the current process; nil if there was none.
func (m *processMachine) current() *subprocess.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.child
}

func (m *processMachine) addr() string {
	if m.alive(context.Background()) != nil {
		return ""
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port))
}

func (m *processMachine) peer() (string, int) { return "127.0.0.1", m.port }
func (m *processMachine) clockPath() string   { return m.clock }
func (m *processMachine) dataDir() string     { return m.dir }

func (m *processMachine) identity() history.Server {
	if m.alive(context.Background()) != nil {
		return history.Server{}
	}
	return history.Server{PID: m.current().PID()}
}

// alive returns nil while the process runs, and then an error with the last lines of its log.
func (m *processMachine) alive(context.Context) error {
	c := m.current()
	if c == nil {
		return errors.New("not started")
	}
	select {
	case <-c.Ended():
	default:
		return nil
	}
	log, _ := os.ReadFile(filepath.Join(m.dir, logName))
	tail := log[max(0, len(log)-1000):]
	if bytes.Contains(tail, []byte("Address already in use")) {
		return fmt.Errorf("%w: %d", ErrPortTaken, m.port)
	}
	return fmt.Errorf("redis-server ended (%v); its log ends in:\n%s", c.Err(), tail)
}

// kill waits for the process: its port is free then.
func (m *processMachine) kill(ctx context.Context) error {
	c := m.current()
	if err := c.Kill(); err != nil {
		return err
	}
	select {
	case <-c.Ended():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *processMachine) pause(context.Context) error  { return m.current().Stop() }
func (m *processMachine) resume(context.Context) error { return m.current().Continue() }

func (m *processMachine) close() error {
	if m.current() == nil {
		return nil
	}
	return m.kill(context.Background())
}
