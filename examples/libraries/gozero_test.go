package main

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/locktest"
)

// TestGoZero: once a request is sent, the Redis client ignores the deadline of the context and
// waits for its read time-out (no-answer).
func TestGoZero(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newGoZeroLock, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.ServerLease(goZeroKeeps), locktest.Breaks("no-answer"))
}
