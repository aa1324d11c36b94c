//go:build !unix

// Package cputime measures the CPU time that this process has used.
package cputime

import "time"

// Used returns false: the time is not available on this system.
func Used() (time.Duration, bool) { return 0, false }
