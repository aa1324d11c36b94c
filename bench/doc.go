// Package bench measures locks side by side: the cost of each, alone and when clients compete, on
// the same servers, over equal connections, in the same minute.
//
// [Config] describes the bench, which consists of turns: one lock in one setting for one
// repetition. The locks of a setting follow one another in an order drawn anew for every
// repetition, so that a machine that is slow for a while is slow for all of them. [Run] runs each
// turn through the harness's client path, computes figures from the record, and medians, 95 %
// intervals and ratios to the reference over the repetitions. [CompareBenches] and [CompareRuns]
// compare one bench, or runs, with another.
//
// Every turn is checked like any run: the violations of a lock that is fast because it admits two
// clients stand beside its figures. The package does not rank locks, gives no percentile of too few
// samples, and measures nothing in the simulator, whose time is virtual. Everything but [Run] is
// pure.
package bench
