//go:build unix && !linux

package servers

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes give a server its own process group: on an interrupt from the terminal, clients finish while the servers still run. If
// lockbench is killed, the reaper kills the servers.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processStopped reports whether a process is stopped.
func processStopped(pid int) (bool, error) {
	out, err := exec.Command("ps", "-p", strconv.Itoa(pid), "-o", "state=").Output()
	if err != nil {
		return false, fmt.Errorf("process %d is gone: %w", pid, err)
	}
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), nil
}
