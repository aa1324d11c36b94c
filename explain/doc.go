// Package explain finds why a violation happened, by experiment: it executes the recorded commands again on an embedded server, leaves out one thing
// after another, and repeats the request whose grant was wrong. What must be left out for that request to be refused is the cause. docs/verdicts.md
// has the definitions.
//
// It does not guess. If a record has no commands, or no order of its commands explains their replies, there is no experiment, and the only causes are
// those that the operations alone prove. Nothing here depends on the names of locks, scripts or clients, on words in arguments, or on what other
// rules found.
//
// Data flow: [Record] → order (what each node did, in which order, with every reply compared) → attempts (which commands of an acquire granted, and
// which replies mean a refusal, learnt from the record) → replay (the same history without some events) → pairs of holds, waits, fences, releases
// (which candidate makes the difference) → names (a table from what was left out to the cause).
package explain
