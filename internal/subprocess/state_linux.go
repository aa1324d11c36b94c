package subprocess

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ownGroup gives a process its own group: no interrupt of the terminal reaches it, signals reach
// its children. It dies with the thread that began it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// isStopped reports whether every thread of a process is stopped; os.ErrProcessDone if it has
// ended.
func isStopped(pid int) (bool, error) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is well-formed
	stopped := 0
	for _, file := range files {
		switch state(file) {
		case 0, 'Z', 'X': // the thread has ended, perhaps since the listing
		case 'T', 't':
			stopped++
		default:
			return false, nil
		}
	}
	if stopped == 0 {
		return false, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return true, nil
}

// isDead reports whether a process has ended, whether or not it was waited for.
func isDead(pid int) bool {
	s := state(fmt.Sprintf("/proc/%d/stat", pid))
	return s == 0 || s == 'Z' || s == 'X'
}

// state returns the letter of the state in a stat file, which follows the last parenthesis; 0 if
// there is no file.
func state(file string) byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	if i := bytes.LastIndexByte(text, ')'); i >= 0 && len(text) > i+2 {
		return text[i+2]
	}
	return 0
}
