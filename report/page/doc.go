// Package page makes self-contained HTML pages of a run, a suite or a bench from its directory.
//
// A page is one file that opens from a disk. Its style and its script are inline, its content security policy forbids all others, and it
// sends no request. The strings of a record are only text on it: html/template escapes them, and the script sets text and never markup.
//
// The package judges nothing: verdicts and stories are the checker's. A page does not grow with the run: latencies over time have at most
// [maxBuckets] buckets, only operations near the violations are drawn, and the page says what was left out.
//
// Data flows from the files of a run (run.json, result.json, history, commands, faults, latency log) through one pass that keeps a
// [digest], into a template and the data of the script.
package page
