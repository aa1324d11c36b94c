package subject

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ownGroup returns a child a process group of its own, so that a signal reaches what it has started, and its death when the thread that
// started it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stopLimit bounds the wait for a process to be seen stopped.
const stopLimit = 5 * time.Second

// awaitStopped waits until a process is stopped, as the third field of /proc/<pid>/stat says.
func awaitStopped(pid int) bool {
	for end := time.Now().Add(stopLimit); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		if i := bytes.LastIndexByte(text, ')'); i >= 0 && len(text) > i+2 && (text[i+2] == 'T' || text[i+2] == 't') {
			return true
		}
	}
	return false
}
