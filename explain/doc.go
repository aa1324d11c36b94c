// Package explain says why a violation happened, by experiment: it executes the recorded commands again on an embedded server, leaves out one
// thing after another, and asks again for the grant that should not have been given. What must be left out for that grant to be refused is the
// cause. docs/verdicts.md has the definitions.
//
// It refuses to guess. A record whose replies no order of its commands explains, or that has no commands, gives no experiment, and then no cause
// but what the operations alone prove. Nothing here looks at the names of locks, scripts or clients, at words in arguments, or at what other
// rules found.
//
// The pieces, as data flow through them: [Record] → order (what each node did, in which order, with every reply compared) → attempts (which
// commands of an acquire granted, and which replies mean a refusal, as the record itself teaches) → replay (the same history without some things)
// → pairs of holds, waits, fences, releases (which of the candidates makes the difference) → names (a table from what was left out to the cause).
package explain
