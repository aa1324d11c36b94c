package harness

import "time"

// timebase is the run's monotonic base: nanoseconds from when the run made it.
type timebase struct{ start time.Time }

func newTimebase() timebase { return timebase{time.Now()} }

// wall returns the wall-clock time of the base, in nanoseconds since 1970.
func (b timebase) wall() int64 { return b.start.UnixNano() }

func (b timebase) now() int64 { return int64(time.Since(b.start)) }
