// Package story describes violations: a headline, the events in order, a last line with the cause,
// and a drawing.
//
// It derives nothing. The holds and the operations that show the violation are the checker's
// witness. The commands and faults that led to it are those of the experiment's answer, which is
// also the last line. Times count from the first event; the headline says where that is in the run.
// Grants and commands are told at the instants at which the servers executed them, so that a story
// has one order. Names and arguments are printed as recorded, shortened only at their ends, with
// control characters escaped.
//
// story.go is on top; no file uses what stands above it.
package story
