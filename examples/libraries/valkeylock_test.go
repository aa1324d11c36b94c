package main

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/locktest"
)

// TestValkeylock: the client may repeat the script of an acquire (lock.go:436 and 437,
// NewLuaScriptRetryable). If the first reply is lost, the second SET NX finds the key of the first:
// the try is refused although no other client holds, and all clients are refused for a validity
// (lost-grant). The client waits half a validity too long for the reply to a renewal
// (loss-in-time), and the release returns no error (no-answer).
func TestValkeylock(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newValkeyLock, locktest.RealLease(time.Second), locktest.OnlyReal(), locktest.Promises("renews", "wakes"), locktest.Breaks("lost-grant", "loss-in-time", "no-answer"))
}
