// Package report shows results to people: the end of a run and the matrix of a suite, as terminal text and as Markdown, and the story of a
// violation.
//
// It refuses to judge: every word it shows about a lock was decided by the checker, and showing it cannot change a verdict. It does
// not know how a run is made, opens no file, and writes no escape byte unless its [Style] asks for colours.
//
// Data flows from results.Result and results.Suite to an io.Writer. Text is built as lines first, so that the end of a run keeps
// within [MaxLines].
package report
