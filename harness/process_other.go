//go:build !linux

package harness

import (
	"os"
	"syscall"
	"time"
)

const (
	stateStopped = "T"
	stateDead    = "Z"
)

// Clients as processes are refused before any is started (see timebase_other.go); these only let the package build.

func dieWithParent() *syscall.SysProcAttr { return nil }

func awaitState(int, string, time.Duration) bool { return false }

func stop(*os.Process) error { return os.ErrInvalid }

func resume(*os.Process) error { return os.ErrInvalid }

func killed(error) bool { return false }
