// Package page writes self-contained HTML pages of a run, a suite or a bench from its directory.
//
// A page is one file that needs no server. Its style and script are inline, its content security
// policy forbids all others, and it sends no request. The strings of a record appear only as text:
// html/template escapes them, and the script sets text, never markup.
//
// Verdicts and stories are those of the result. The size of a page does not grow with the run:
// latencies over time have at most [maxBuckets] buckets, only operations near the violations are
// drawn, and the page says what it omits.
//
// Data flows from the files of a run (run.json, result.json, history, commands, faults, latency
// log) through one pass that keeps a [digest], into a template and the data of the script.
package page
