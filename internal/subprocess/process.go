//go:build unix

// Package subprocess starts, listens to, stops and ends the processes that lockbench works with: clients of a run, locks in another process,
// workers of a search, and servers.
//
// Who talks to a process does so in lines of JSON, one object a line: to its standard input, and from its standard output. The end of its
// input is its end, and so is the end of its output. What it says on standard error is kept as its last words, see [Words].
//
// A process leads a process group of its own, and what it has started is stopped and killed with it. It does not outlive this program: on Linux
// it dies with it, elsewhere it finds its input ended.
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

// Process is a process that was started.
type Process struct {
	*Writer  // to its standard input; nil when it is not talked to
	cmd      *exec.Cmd
	listener Listener
	input    io.WriteCloser
	words    Words
	gone     chan struct{} // closed when it will say nothing more
	ended    chan struct{} // closed when it was waited for
	err      error         // of that
}

// Listener takes what a process says. Its functions are called by one goroutine.
type Listener struct {
	Line func(n int, line []byte) error // takes the n-th line, from 1, whose storage is used again; an error ends the process
	End  func(err error)                // called after the last line: nil at the end of the output, or else why no more of it is read; may be nil
	Max  int                            // bytes of a line; 0 means MaxLine
}

// New makes a process of a command that was not started. With l.Line it is talked to, and End must be called once it was started; without, its streams are
// what the command says, and Kill must be.
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
	p.cmd.Stderr, p.cmd.WaitDelay = &p.words, waitDelay
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
	waitDelay  = 2 * time.Second // for standard error, which what the process has started may keep open
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

// listen reads the output to its end.
func (p *Process) listen(out io.Reader) {
	defer close(p.gone)
	err := each(NewReader(out, p.listener.Max), p.listener.Line)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
		err = nil // half a line is the last of one that was killed
	}
	if p.listener.End != nil {
		p.listener.End(err)
	}
	_ = p.signal(syscall.SIGKILL) // also what it has started
	_, _ = io.Copy(io.Discard, out)
}

func each(r *Reader, line func(int, []byte) error) error {
	for n := 1; ; n++ {
		text, err := r.Line()
		if err == nil {
			err = line(n, text)
		}
		if err != nil {
			return err
		}
	}
}

// Gone is closed when the process will say nothing more.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended is closed when the process has ended and was waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Err is how the process ended, once it has; nil for exit status 0.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Killed reports whether the process, which has ended, was killed.
func (p *Process) Killed() bool {
	<-p.ended
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// LastWords are what the process said last on standard error, see [Words.String].
func (p *Process) LastWords() string { return p.words.String() }

// Note adds to the last words what the process said elsewhere.
func (p *Process) Note(line []byte) { _, _ = p.words.Write(append(line, '\n')) } // it takes everything

// CloseInput closes the input of the process.
func (p *Process) CloseInput() { _ = p.input.Close() } // closed twice is closed

// End closes the input of the process, and kills it when it has not ended within grace. It returns when it was waited for.
func (p *Process) End(grace time.Duration) {
	p.CloseInput()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.gone:
	case <-t.C:
		_ = p.signal(syscall.SIGKILL) // one that has ended is ended
	}
	<-p.ended
}

// Stop stops the process, as SIGSTOP does, and returns when it is seen stopped.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return p.await("stop", func() (bool, error) { return isStopped(p.PID()) })
}

// Continue lets a stopped process go on, and returns when it is seen to.
func (p *Process) Continue() error {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	return p.await("go on", func() (bool, error) {
		stopped, _ := isStopped(p.PID()) // one that is gone is not stopped
		return !stopped, nil
	})
}

// Kill kills the process, as SIGKILL does, and returns when it is seen dead. One that has ended is dead.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.await("die", func() (bool, error) { return isDead(p.PID()), nil })
}

// signal sends a signal to the process and all that it has started; os.ErrProcessDone when it has ended.
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
