//go:build unix

// Package cputime measures the CPU time that this process has used.
package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used returns the CPU time of this process so far, user and system; false if it is not available.
func Used() (time.Duration, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
