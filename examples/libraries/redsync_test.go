package libraries

import (
	"testing"

	"github.com/lockbench/lockbench/locktest"
)

func TestRedsyncOnRedigo(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newRedsyncLock)
}

func TestRedsyncOnRedigoSchedules(t *testing.T) {
	t.Parallel()
	locktest.Explore(t, newRedsyncLock, locktest.Schedules(500))
}
