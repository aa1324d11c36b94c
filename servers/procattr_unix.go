//go:build unix && !linux

package servers

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// childAttributes keep a server out of our process group: an interrupt from the terminal is for lockbench, which wants to
// drain its clients against servers that still answer. When we are killed, the reaper kills the servers.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// processStopped says whether a process is stopped.
func processStopped(pid int) (bool, error) {
	out, err := exec.Command("ps", "-p", strconv.Itoa(pid), "-o", "state=").Output()
	if err != nil {
		return false, fmt.Errorf("process %d is gone: %w", pid, err)
	}
	return strings.HasPrefix(strings.TrimSpace(string(out)), "T"), nil
}
