package libraries

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/locktest"
)

// The script of an acquire may be repeated by the client (lock.go:436 and 437, NewLuaScriptRetryable). When a reply is lost, the second SET NX
// finds the key of the first: the try is refused though nobody else holds, and everybody is kept out for a validity. A renewal without a reply is awaited
// for half a validity too long (loss-in-time), and what ends a hold does not say whether it did (no-answer).
func TestValkeylock(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newValkeyLock, locktest.RealLease(time.Second), locktest.OnlyReal(), locktest.Promises("renews", "wakes"), locktest.Breaks("lost-grant", "loss-in-time", "no-answer"))
}
