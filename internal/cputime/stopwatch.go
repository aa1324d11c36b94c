package cputime

import "time"

// Stopwatch returns a function that returns the processor time used since: on a busy machine less
// than the time that has passed.
func Stopwatch() func() time.Duration {
	begun := time.Now()
	from, known := Used()
	return func() time.Duration {
		if to, ok := Used(); ok && known {
			return to - from
		}
		return time.Since(begun)
	}
}
