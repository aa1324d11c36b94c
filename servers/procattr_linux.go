package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// childAttributes kill a server when lockbench dies, and give it its own process group: on an interrupt from the terminal, clients finish
// while the servers still run.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// processStopped reports whether every thread of a process is stopped. In /proc, the state letter follows the command name, whose end is the
// last parenthesis.
func processStopped(pid int) (bool, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return false, fmt.Errorf("process %d is gone", pid)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread ended since the listing
		}
		if i := bytes.LastIndexByte(stat, ')'); i < 0 || i+2 >= len(stat) || stat[i+2] != 'T' {
			return false, nil
		}
	}
	return true, nil
}
