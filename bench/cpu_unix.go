//go:build unix

package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is what this process has used of the processors so far, in user and system mode; 0 when it cannot be known.
func processTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
