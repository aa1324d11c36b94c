package harness

import "time"

// timebase is the run's monotonic base. It counts nanoseconds from the moment at which the run made it; a process that shares it knows that moment
// on the machine's monotonic clock.
type timebase struct {
	start time.Time
	ahead int64 // nanoseconds on the base at start
}

func newTimebase() timebase { return timebase{start: time.Now()} }

// wall returns the wall-clock time of the base, in nanoseconds since 1970.
func (b timebase) wall() int64 { return b.start.UnixNano() - b.ahead }

// now returns nanoseconds since the base.
func (b timebase) now() int64 { return b.ahead + int64(time.Since(b.start)) }
