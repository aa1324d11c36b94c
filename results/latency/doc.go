// Package latency turns what clients measured into HdrHistograms: per operation, from the intended start and from the
// call, outside and inside the fault windows.
//
// Each client has a [Recorder] of its own, so that the hot path shares nothing. A recorder keeps its samples packed
// (about 9 bytes each) instead of filing them at once, because whether a sample met a fault is only known when
// the fault windows have been measured. [Merge] files them all, at the end; [Recorder.Fold] files the older ones earlier, in runs so long
// that the samples would matter.
//
// It refuses to clamp. A sample outside [0, Highest] is counted and its size kept, and shown with the result; a sample
// below Lowest is filed where the histogram's resolution puts it.
//
// Every time is integer nanoseconds on the run's base. No clock is read here.
package latency
