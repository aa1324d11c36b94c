//go:build unix

package subject

import (
	"fmt"
	"syscall"
)

// signals by name.
func signalNumber(name string) syscall.Signal {
	switch name {
	case "STOP":
		return syscall.SIGSTOP
	case "CONT":
		return syscall.SIGCONT
	}
	return syscall.SIGKILL
}

// signalGroup sends a signal to a process of this machine that leads its group, and to the group. After STOP it fails unless the process is
// seen stopped.
func signalGroup(pid int, name string) error {
	if err := syscall.Kill(-pid, signalNumber(name)); err != nil {
		return fmt.Errorf("send %s to %d: %w", name, pid, err)
	}
	if name == "STOP" && !awaitStopped(pid) {
		return fmt.Errorf("process %d was not seen to stop", pid)
	}
	return nil
}
