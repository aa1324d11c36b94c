// Package page makes self-contained HTML pages of what lies in a run directory: of a run, of a suite, and of a benchmark.
//
// A page is one file. It has its style and its script inline, allows no other by its content security policy, asks the network for
// nothing, and opens from a disk. What a record holds reaches it as text only: html/template escapes the words, and the script sets
// text and never markup.
//
// It refuses to judge: verdicts and stories are the checker's. It refuses to grow with the run: latencies over time are kept in at most
// [maxBuckets] buckets, operations are drawn around the violations alone, and the page says what was left out.
//
// Data flows from the files of a run (run.json, result.json, history, commands, faults, latency log) through one pass that keeps a
// [digest], into a template and the data of the script.
package page
