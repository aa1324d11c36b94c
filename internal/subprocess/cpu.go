//go:build unix

package subprocess

import (
	"syscall"
	"time"
)

// UsedCPU returns the CPU time of this process so far, user and system.
func UsedCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for no process and no memory of others
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Stopwatch returns a function that returns the processor time used since: on a busy machine less
// than the time that has passed.
func Stopwatch() func() time.Duration {
	from := UsedCPU()
	return func() time.Duration { return UsedCPU() - from }
}
