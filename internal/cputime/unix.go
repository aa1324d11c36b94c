//go:build unix

// Package cputime tells what this process has used of the processors.
package cputime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Used is the time that this process has run so far, in user and system mode; false when it cannot be known.
func Used() (time.Duration, bool) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
