package libraries

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/locktest"
)

// Its Redis client hears no deadline of a context once a request is sent, and waits for its read time-out (no-answer).
func TestGoZero(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newGoZeroLock, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.ServerLease(goZeroKeeps), locktest.Breaks("no-answer"))
}
