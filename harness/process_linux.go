package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// The states of a process that are waited for, as in the third field of /proc/<pid>/stat.
const (
	stateStopped = "Tt"
	stateDead    = "ZX"
)

// dieWithParent has a child killed when the thread that started it ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// awaitState waits until a process is in one of the states, for at most limit.
func awaitState(pid int, states string, limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(100 * time.Microsecond) {
		s := state(pid)
		if s != 0 && bytes.IndexByte([]byte(states), s) >= 0 {
			return true
		}
		if s == 0 || time.Now().After(end) {
			return s == 0 && states == stateDead
		}
	}
}

// state is the letter of a process's state, 0 when there is no such process.
func state(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	if i := bytes.LastIndexByte(text, ')'); i >= 0 && len(text) > i+2 {
		return text[i+2]
	}
	return 0
}

func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// killed tells a process that died of SIGKILL, which here is the doing of the plan or of the run's end.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
