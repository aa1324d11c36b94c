//go:build unix

// Package subprocess starts, listens to, stops and ends the processes that lockbench works with: clients of a run, locks in another process,
// workers of a search, and servers.
//
// Processes read lines of JSON from standard input and write them to standard output, one object a line. The end of its input, or of its output, ends
// a process. The end of its standard error is kept, see [Process.LastWords].
//
// A process leads its own process group, so that the processes which it has started are stopped and killed with it. It does not outlive this program:
// on Linux it is killed when this program ends, elsewhere its input ends.
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
	*Writer  // to its standard input; nil if that is not used
	cmd      *exec.Cmd
	listener Listener
	input    io.WriteCloser
	stderr   stderrTail
	gone     chan struct{} // closed when its output has ended
	ended    chan struct{} // closed when the process has ended and was waited for
	err      error         // the result of waiting
}

// Listener receives the output of a process. One goroutine calls its functions.
type Listener struct {
	Line func(n int, line []byte) error // receives the n-th line, from 1, whose storage is reused; an error ends the process
	End  func(err error)                // called after the last line: nil at the end of the output, or else why reading stopped; may be nil
	Max  int                            // bytes of a line; 0 means 16 MiB
}

// New makes a process of a command that was not started. With l.Line lockbench uses its input and output, and End must be called after Start; without
// it, the streams are those of the command, and Kill must be called.
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
	go p.listen(out) // ends with the process, see End
	return nil
}

const (
	waitDelay  = 2 * time.Second // for standard error, which processes started by the process may keep open
	stateLimit = 5 * time.Second // for a process to be seen stopped or dead
)

// start starts the process from a goroutine that waits for it and keeps its thread: on Linux a process dies with the thread that started it.
func (p *Process) start() error {
	started := make(chan error)
	go func() { // ends with the process
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			<-p.gone // Wait closes the pipe that listen reads
			p.err = p.cmd.Wait()
		}
	}()
	return <-started
}

// listen reads the output until its end.
func (p *Process) listen(out io.Reader) {
	defer close(p.gone)
	err := each(NewReader(out, p.listener.Max), p.listener.Line)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
		err = nil // half a line is the last output of a killed process
	}
	if p.listener.End != nil {
		p.listener.End(err)
	}
	_ = p.signal(syscall.SIGKILL) // also the processes that it has started
	_, _ = io.Copy(io.Discard, out)
}

func each(r *Reader, line func(int, []byte) error) error {
	for n := 1; ; n++ {
		text, err := r.next()
		if err == nil {
			err = line(n, text)
		}
		if err != nil {
			return err
		}
	}
}

// Gone returns a channel that is closed when the process's output has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended returns a channel that is closed when the process has ended and was waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID returns its process id.
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

// LastWords returns the end of the process's standard error, up to 4 KiB, and if a Go program crashed, the reason and what follows it.
func (p *Process) LastWords() string { return p.stderr.String() }

// Note adds a line of output to the last words.
func (p *Process) Note(line []byte) { _, _ = p.stderr.Write(append(line, '\n')) } // it takes everything

// CloseInput closes the input of the process.
func (p *Process) CloseInput() { _ = p.input.Close() } // closing it twice does no harm

// End closes the input of the process, and kills it if it has not ended within grace. It returns when the process was waited for.
func (p *Process) End(grace time.Duration) {
	p.CloseInput()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.gone:
	case <-t.C:
		_ = p.signal(syscall.SIGKILL) // it may have ended already
	}
	<-p.ended
}

// Stop stops the process with SIGSTOP, and returns when it is seen stopped.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.await("stop", func() (bool, error) { return isStopped(p.PID()) })
}

// Continue resumes a stopped process with SIGCONT, and returns when it is seen running.
func (p *Process) Continue() error {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	return p.await("go on", func() (bool, error) {
		stopped, _ := isStopped(p.PID()) // a process that is gone is not stopped
		return !stopped, nil
	})
}

// Kill kills the process with SIGKILL, and returns when it is seen dead. It returns nil for a process that has ended.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.await("die", func() (bool, error) { return isDead(p.PID()), nil })
}

// signal sends a signal to the process and those that it has started; os.ErrProcessDone if it has ended.
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

// await waits until the process is seen in a state.
func (p *Process) await(what string, is func() (bool, error)) error {
	for end := time.Now().Add(stateLimit); ; time.Sleep(100 * time.Microsecond) {
		if there, err := is(); there || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d was not seen to %s", p.PID(), what)
		}
	}
}
