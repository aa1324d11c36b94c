// Package bench measures locks side by side: the cost of each, alone and when clients compete, on the same servers, over equal connections, in the
// same minute.
//
// [Config] describes the bench. It is taken apart into turns, each one lock in one setting for one repetition; the locks of a setting follow one
// another in an order drawn anew for every repetition, so that a machine that is slow for a while is slow for all of them. [Run] runs each turn
// through the harness's client path, computes figures from the record, and medians, 95 % intervals and ratios to the reference over the
// repetitions. [CompareBenches] and [CompareRuns] compare one bench, or runs, with another.
//
// Every turn is checked as any run is: the figures of a lock that is fast because it admits two clients say so. The package does not judge which
// lock is better, gives no percentile of too few samples, and measures nothing in the simulator, whose time is virtual. Everything but [Run] is
// pure.
package bench
