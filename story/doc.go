// Package story describes violations: a headline, the events in order, a last line with the cause, and a drawing.
//
// It derives nothing. Who held when, and what shows the violation, is the checker's witness. What led to it, which command hit whose key and what a
// fault did to the data, is the answer of the experiment, which is also the last line. Names and arguments are printed as recorded, shortened at
// their ends only, with control characters escaped.
package story
