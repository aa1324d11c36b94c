package history

// Clock is a node's clock: how far it is ahead of true time at an instant of the run, and by how
// many millionths faster it has run since then. The zero value is right.
type Clock struct{ offset, since, ppm int64 }

// At returns what the clock shows at an instant, both on the run's base.
func (c Clock) At(t int64) int64 { return t + c.offset + (t-c.since)*c.ppm/1_000_000 }

// When returns the instant at which the clock shows own.
func (c Clock) When(own int64) int64 {
	passed := own - c.offset - c.since
	return c.since + passed - int64(float64(passed)*float64(c.ppm)/float64(1_000_000+c.ppm))
}

// Shows returns how much the clock moves on in a time.
func (c Clock) Shows(passed int64) int64 { return passed + passed*c.ppm/1_000_000 }

// After returns the clock after the effect of a fault.
func (c Clock) After(e *Effect) Clock {
	switch e.What {
	case ClockSet:
		c.offset += e.By
	case ClockRate:
		c = Clock{offset: c.At(e.At) - e.At, since: e.At, ppm: e.PPM}
	case Promoted:
		c = Clock{} // it is another machine's from now on
	}
	return c
}
