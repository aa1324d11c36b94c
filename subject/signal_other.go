//go:build unix && !linux

package subject

import "syscall"

// ownGroup returns a child a process group of its own, so that a signal reaches what it has started.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitStopped trusts the signal: this system does not show the state of a process in a file.
func awaitStopped(int) bool { return true }
