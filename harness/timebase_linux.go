package harness

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// tries is how often the two clocks are read together; the closest pair is used.
const tries = 16

// onMachine returns the base on the machine's monotonic clock, one for all processes, and the possible error: the time between two readings of Go's.
func (b timebase) onMachine() (base, gap int64, err error) {
	gap = int64(time.Hour)
	for range tries {
		before := b.now()
		machine, err := monotonic()
		if err != nil {
			return 0, 0, err
		}
		if after := b.now(); after-before < gap {
			base, gap = machine-before, after-before
		}
	}
	return base, gap, nil
}

// sharedTimebase returns a base that agrees with that of another process on this machine.
func sharedTimebase(machineBase int64) (timebase, error) {
	local := newTimebase()
	base, _, err := local.onMachine()
	local.ahead = base - machineBase
	return local, err
}

func monotonic() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("read the monotonic clock: %w", err)
	}
	return ts.Nano(), nil
}
