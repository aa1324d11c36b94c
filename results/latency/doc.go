// Package latency collects latencies into HdrHistograms: per operation, from the intended start and
// from the call, outside and inside the fault windows.
//
// The samples are those of the record, added to a [Set] when the run is over: whether one overlaps
// a fault is known only after the fault was measured. While clients run, each has a [Live] of its
// own for the progress line, so that they share nothing on the hot path.
//
// Samples are not clamped: one outside [0, Highest] is counted as dropped.
//
// Times are integer nanoseconds on the run's base. The package reads no clock.
package latency
