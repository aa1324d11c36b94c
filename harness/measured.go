package harness

import "github.com/lockbench/lockbench/history"

// warm is how long, in nanoseconds from the run's base, what is done is not measured.
func (d *drive) warm() int64 { return int64(d.Scenario.WarmUp.Of(d.lease())) }

// length is for how many nanoseconds clients begin rounds after the warm-up; 0: until their rounds are done.
func (d *drive) length() int64 { return int64(d.Scenario.Length.Of(d.lease())) }

// measured passes on that the warm-up, or the length, is over.
func (d *drive) measured(over bool) {
	if d.Measure != nil {
		d.Measure(over)
	}
}

// grants counts the grants that returned within the measured time, and those before it.
func (d *drive) grants(ops []history.Operation) (within, before int64) {
	end := d.measuredUntil()
	for i := range ops {
		op := &ops[i]
		switch {
		case op.Op != history.Acquire || op.Outcome != history.OK || op.Return >= end:
		case op.Return < d.warm():
			before++
		default:
			within++
		}
	}
	return within, before
}

// measuredUntil is when the measuring ended: with the length, or with the clients.
func (d *drive) measuredUntil() int64 {
	if end := d.warm() + d.length(); d.length() > 0 && end < d.ended {
		return end
	}
	return d.ended + 1
}
