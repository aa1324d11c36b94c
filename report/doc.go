// Package report formats results for people and tools: terminal text, Markdown, JUnit, CSV, and the
// formats of CI dashboards.
//
// It decides nothing: verdicts come from the checker. It opens no file, and writes escape sequences
// only if its [Style] asks for colours. Text is built as lines first, so that the end of a run fits
// [MaxLines].
package report
