// Package checker decides from the record of a run whether a lock kept its promises, and shows where it broke them.
//
// It reads nothing but the record: it knows no Redis, no variant's name and no expectation, reads no clock and draws no global random number.
// What it can't decide is inconclusive. A record that breaks an assumption is an error with a line number, never a verdict.
//
// # How a history flows through
//
//  1. load reads the source once into an archive: 32 bytes for each operation (record), 64 more for each grant, extend and write (detail), strings
//     as numbers, sorted in chunks by call. Operations may come in any order.
//  2. findHolds goes once over the records of a key in order of time and finds its holds: where the belief in each ended, until when the
//     server can have kept it, and which operations belong to it. It checks that each client does one thing at a time.
//  3. try goes over the records again and feeds each of them to the judges, once at its call and once at its return. Each judge checks one
//     property, in its own file, which gives the definition, the reason why it is right, and its limits. It reads the holds.
//  4. decide searches the executions of the abstract server if a key has few operations, or can be cut into parts with few, and so decides
//     questions of order. For other keys the judge of linearizability cuts the history into windows and has Porcupine search those with a
//     violation and a random sample of the others. What that and the judges find is searched again exactly, with what is near it
//     (vicinity.go); keys that are not too long are searched so a few replies at a time (seek.go).
//  5. A violation that is kept has a Witness, the holds and operations that show it, and its surroundings in the record. Package explain finds
//     its cause, package story describes it.
//
// Keys are judged concurrently. Time and memory grow linearly with the history, legal or not; BenchmarkCheck measures both beside plain
// Porcupine.
//
// # Where the definitions of docs/verdicts.md are
//
//	hold, to which operations belong   holds.go
//	belief, until, gap                 belief.go
//	possible, slack                    possible.go
//	conflict, permits                  overlap.go
//	the abstract server                execution.go; with the clock error: instants.go; with faults: upset in faults.go
//	which property is to blame         blame.go
//	a property                         the file with its name; for store-integrity also chain.go, for linearizability also window.go and model.go
//	an excuse                          faults.go
//
// # Three views of a hold
//
//	belief   what the lock had told the client: from the return of the acquire to the first of release called, loss notified,
//	         valid-until. Two that conflict break mutual-exclusion: the algorithm is wrong.
//	use      what the client did: its critical section. Two that overlap break exclusive-use: a client outlived its lease.
//	possible from the call of the acquire to the last instant at which the server can have kept the hold. A refusal that
//	         meets none breaks refusal.
//
// # Trust
//
// TestVerdictsAreThoseOfThePage compares Check with a program that knows only the definition of the verdicts, on histories with leases, tokens, extends,
// unknown outcomes, clock errors, server faults and equal instants; TestVerdictsOfUnlikelyRecords does so on records that make no sense.
// TestSweepAgreesWithPorcupine compares the sweep, and the windowed search, with textbook models on random histories; TestEveryRuleIsNeeded switches
// each rule off and requires a history to be judged differently; TestMetamorphic changes what must not matter.
package checker
