package explain

import "github.com/lockbench/lockbench/history"

// clock is a node's clock: its offset from true time, and its rate error in parts per million since
// an instant.
type clock struct{ offset, ppm, since int64 }

// ahead returns how far the node's clock is ahead of true time at an instant of the run.
func (c clock) ahead(t int64) int64 { return c.offset + (t-c.since)*c.ppm/1_000_000 }

// after returns the clock after the effect of a fault.
func (c clock) after(e *history.Effect) clock {
	switch e.What {
	case history.ClockSet:
		c.offset += e.By
	case history.ClockRate:
		c = clock{offset: c.ahead(e.At), ppm: e.PPM, since: e.At}
	case history.Promoted:
		c = clock{} // it is another machine's from now on
	}
	return c
}

// clockAt returns a node's clock at an instant.
func (rec *Record) clockAt(node int, at int64) (c clock) {
	for _, e := range rec.effectsOn(node) {
		if e.At <= at {
			c = c.after(e)
		}
	}
	return c
}
