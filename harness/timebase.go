package harness

import "time"

// timebase is the run's one monotonic base. Its nanoseconds count from the moment it was made; on Linux that moment is also known
// on the machine's monotonic clock, so that other processes can share it.
type timebase struct {
	start time.Time
}

func newTimebase() timebase { return timebase{time.Now()} }

// now is nanoseconds since the base.
func (b timebase) now() int64 { return int64(time.Since(b.start)) }
