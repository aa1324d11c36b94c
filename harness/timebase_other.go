//go:build !linux

package harness

import (
	"fmt"
	"runtime"

	"github.com/lockbench/lockbench/servers"
)

func (b timebase) onMachine() (base, gap int64, err error) {
	return 0, 0, fmt.Errorf("clients as processes on %s: %w: a monotonic clock that all processes share is read on Linux only", runtime.GOOS, servers.ErrMissing)
}

func sharedTimebase(int64) (timebase, error) {
	b := newTimebase()
	_, _, err := b.onMachine()
	return b, err
}
