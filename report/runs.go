package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// RunsRow summarizes several runs of one lock.
type RunsRow struct {
	Lock     string
	Runs     int
	Verdicts map[checker.Result]int
	Figures  map[string]results.Figure // by metric: the median over the runs, with its interval if there are enough
}

// runsColumns are the metrics shown, with their headings.
var runsColumns = [...][2]string{{"throughput", "holds/s"}, {"acquire.p50", "wait p50"}, {"acquire.p99", "wait p99"}, {"errors", "errors"}}

// Runs writes a table of several runs: their verdicts, and the median of each figure with half of
// its 95 % interval.
func Runs(w io.Writer, rows []RunsRow, s Style) error {
	head := fmt.Sprintf("%-*s%-13s", lockColumn, "together", "verdicts")
	for _, c := range runsColumns {
		head += fmt.Sprintf("%11s", c[1])
	}
	lines := []string{"", s.paint(bold, head)}
	for _, r := range Clean(rows) {
		line := fmt.Sprintf("%-*s%-13s", lockColumn, Short(r.Lock, lockColumn-1), endings(r))
		widths := ""
		for _, c := range runsColumns {
			f := r.Figures[c[0]]
			line += fmt.Sprintf("%11s", Figure(f))
			width := ""
			if f.Low != nil && f.Value != nil && *f.Value != 0 {
				width = "± " + spread(f)
			}
			widths += fmt.Sprintf("%11s", width)
		}
		lines = append(lines, line)
		if strings.TrimSpace(widths) != "" {
			lines = append(lines, fmt.Sprintf("%-*s", lockColumn+13, "")+widths)
		}
	}
	return write(w, lines)
}

// endings formats the numbers of a row's verdicts.
func endings(r RunsRow) string {
	var words []string
	for _, v := range []checker.Result{checker.Fail, checker.Inconclusive, checker.Pass} {
		if n := r.Verdicts[v]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, word(v)))
		}
	}
	return strings.Join(words, " ")
}
