// Package bench measures locks side by side: what each costs, alone and when clients compete, on the same servers, over connections of
// one make, in the same minute.
//
// The flow: [Config] is what was asked; [Turns] makes of it a list of turns, each one lock in one setting for one repetition, in which
// the locks of a setting follow one another in an order that is drawn anew for every repetition, so that a machine that is slow for a
// while is slow for all of them. [Run] runs each turn through the harness's client path, [Measure] makes figures of what was recorded, and
// [Aggregate] makes medians, 95 % intervals and ratios to the reference of the repetitions. [Compare] holds one bench, or run, against
// another.
//
// Every turn is checked as any run is: a lock that is fast because it lets two clients in says so beside its figures. The package
// refuses to judge which lock is better, gives no percentile of too few samples, and measures nothing in the simulator, whose time is
// not real. Everything but [Run] is pure.
package bench
