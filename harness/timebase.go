package harness

import "time"

// timebase is the run's monotonic base: nanoseconds from when the run made it. Processes that share it know that moment on the machine's clock.
type timebase struct {
	start time.Time
	ahead int64 // nanoseconds on the base at start
}

func newTimebase() timebase { return timebase{start: time.Now()} }

// wall returns the wall-clock time of the base, in nanoseconds since 1970.
func (b timebase) wall() int64 { return b.start.UnixNano() - b.ahead }

func (b timebase) now() int64 { return b.ahead + int64(time.Since(b.start)) }
