//go:build !unix

// Package cputime tells what this process has used of the processors.
package cputime

import "time"

// Used is not known here.
func Used() (time.Duration, bool) { return 0, false }
