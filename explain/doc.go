// Package explain finds why a violation happened, by experiment: it executes the recorded commands again on an embedded server, leaves out one event
// after another, and repeats the request whose grant was wrong. The event without which that request is refused is the cause. docs/verdicts.md has the
// definitions.
//
// It does not guess. If a record has no commands, or no order of its commands explains their replies, there is no experiment, and only the operations
// alone can prove a cause. Nothing here depends on the names of locks, scripts or clients, on words in arguments, or on the findings of other rules.
//
// Data flow: [Record] → order (what each node executed, in which order, with every reply compared) → attempts (which commands of an acquire granted,
// and which replies mean a refusal, learnt from the record) → replay (the same history without some events) → pairs of holds, waits, fences, releases
// (which event makes the difference) → names (a table from that event to the cause).
package explain
