//go:build unix

// Package subprocess starts, reads, stops and ends the processes of lockbench: clients of a run,
// locks in another process, workers of a search, and servers.
//
// Processes read lines of JSON from standard input and write them to standard output, one object a
// line. A process must exit at the end of its input, and is killed at the end of its output. The
// end of its standard error is kept, see [Process.LastWords].
//
// A process leads its own group: its children are stopped and killed with it. When this program
// ends, it is killed on Linux; elsewhere its input ends. The package also measures the processor
// time of this process.
package subprocess

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a started process.
type Process struct {
	*Writer  // to its standard input; nil if not used
	cmd      *exec.Cmd
	listener Listener
	input    io.WriteCloser
	stderr   stderrTail
	gone     chan struct{} // closed when its output has ended
	ended    chan struct{} // closed when the process has ended and was waited for
	err      error         // of waiting for it
}

// Listener receives the output of a process. One goroutine calls its functions.
type Listener struct {
	// receives the n-th line, from 1, whose storage is reused; an error ends the process
	Line func(n int, line []byte) error
	// called after the last line, with nil at the end of the output, or the error that ended
	// reading; may be nil
	End func(err error)
	Max int // bytes of a line; 0 means 16 MiB
}

// New returns a process for a command. With l.Line it uses the command's input and output, and End
// must be called after Start; without, Kill.
func New(cmd *exec.Cmd, l Listener) *Process {
	return &Process{cmd: cmd, listener: l, gone: make(chan struct{}), ended: make(chan struct{})}
}

// Start starts the process.
func (p *Process) Start() error {
	p.cmd.SysProcAttr = ownGroup()
	if p.listener.Line == nil {
		close(p.gone)
		return p.start()
	}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.stderr, waitDelay
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	p.Writer = NewWriter(p.input)
	if err := p.start(); err != nil {
		return err
	}
	go func() { // ends with the process, see End
		defer close(p.gone)
		var err error
		for in, n := NewReader(out, p.listener.Max), 1; err == nil; n++ {
			var line []byte
			if line, err = in.next(); err == nil {
				err = p.listener.Line(n, line)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
			err = nil // a killed process may end in the middle of a line
		}
		if p.listener.End != nil {
			p.listener.End(err)
		}
		_ = p.signal(syscall.SIGKILL) // also its child processes
		_, _ = io.Copy(io.Discard, out)
	}()
	return nil
}

const (
	waitDelay  = 2 * time.Second // for standard error, which its child processes may keep open
	stateLimit = 5 * time.Second // until a process is stopped or dead
)

// start starts the process from a goroutine that waits for it and keeps its thread: on Linux a
// process dies with the thread that started it.
func (p *Process) start() error {
	started := make(chan error)
	go func() { // ends with the process
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			<-p.gone // Wait closes the pipe that is read until then
			p.err = p.cmd.Wait()
		}
	}()
	return <-started
}

// Gone returns a channel that is closed when the process's output has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended returns a channel that is closed when the process has ended and was waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Err returns how the process ended, once it has; nil for exit status 0.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Killed reports whether a process that has ended was killed.
func (p *Process) Killed() bool {
	<-p.ended
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// LastWords returns the end of the process's standard error, up to 4 KiB. If a Go program crashed,
// it begins with the reason.
func (p *Process) LastWords() string { return p.stderr.String() }

// Note adds a line to the last words.
func (p *Process) Note(line []byte) { _, _ = p.stderr.Write(append(line, '\n')) } // it takes everything

// CloseInput closes the input of the process.
func (p *Process) CloseInput() { _ = p.input.Close() } // closing it twice does no harm

// End closes the input of the process, and kills it if it does not exit within grace. It returns
// after the process was waited for.
func (p *Process) End(grace time.Duration) {
	p.CloseInput()
	select {
	case <-p.gone:
	case <-time.After(grace):
		_ = p.signal(syscall.SIGKILL) // it may have ended already
	}
	<-p.ended
}

// Stop stops the process with SIGSTOP, and returns when it is stopped.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.await("stop", func() (bool, error) { return isStopped(p.PID()) })
}

// Continue resumes a stopped process with SIGCONT, and returns when it is running.
func (p *Process) Continue() error {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	return p.await("resume", func() (bool, error) {
		stopped, _ := isStopped(p.PID()) // a process that has ended is not stopped
		return !stopped, nil
	})
}

// Kill kills the process with SIGKILL, and returns when it is dead. It returns nil for a process
// that has ended.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.await("die", func() (bool, error) { return isDead(p.PID()), nil })
}

// signal sends a signal to the process and its child processes. It returns os.ErrProcessDone if the
// process has ended.
func (p *Process) signal(s syscall.Signal) error {
	select {
	case <-p.ended:
		return os.ErrProcessDone
	default:
	}
	err := syscall.Kill(-p.PID(), s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

func (p *Process) await(what string, is func() (bool, error)) error {
	for end := time.Now().Add(stateLimit); ; time.Sleep(100 * time.Microsecond) {
		if there, err := is(); there || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d did not %s", p.PID(), what)
		}
	}
}
