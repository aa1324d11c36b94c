//go:build unix && !linux

package subprocess

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// ownGroup puts a process into its own group, so that an interrupt from the terminal does not reach
// it and a signal reaches its child processes.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// isStopped reports whether a process is stopped; os.ErrProcessDone if it has ended.
func isStopped(pid int) (bool, error) {
	s := state(pid)
	if s == "" {
		return false, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return strings.HasPrefix(s, "T"), nil
}

// isDead reports whether a process has ended, whether or not it was waited for.
func isDead(pid int) bool {
	s := state(pid)
	return s == "" || strings.HasPrefix(s, "Z")
}

// state returns the letter of a process's state; "" if there is no such process.
func state(pid int) string {
	out, _ := exec.Command("ps", "-p", strconv.Itoa(pid), "-o", "state=").Output() // it fails if there is none
	return strings.TrimSpace(string(out))
}
