// Package story tells violations: a headline, what happened in order, and a last line that says why, with a drawing.
//
// It derives nothing. Who held when, and what shows the violation, is the checker's witness; what led to it, which command hit whose key and what a
// fault did to the data, is the answer of the experiment, and the last line is the experiment itself. Names and arguments are printed as they were
// recorded, shortened at their ends only, and control characters are escaped.
package story
