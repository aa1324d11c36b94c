// Package latency collects latencies into HdrHistograms: per operation, from the intended start and
// from the call, outside and inside the fault windows.
//
// Each client has its own [Recorder], so clients share nothing on the hot path. A recorder keeps
// packed samples (about 9 bytes each), because whether a sample overlaps a fault is known only
// after the fault was measured. [Merge] adds all samples to histograms at the end.
//
// Samples are not clamped: one outside [0, Highest] is counted as dropped.
//
// Times are integer nanoseconds on the run's base. The package reads no clock.
package latency
