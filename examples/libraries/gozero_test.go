package libraries

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/locktest"
)

func TestGoZero(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newGoZeroLock, locktest.OnlyReal(), locktest.RealLease(time.Second), locktest.ServerLease(goZeroKeeps))
}
