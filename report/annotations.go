package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// RunAnnotations writes a GitHub workflow command for each violated property and failed gate of a run.
func RunAnnotations(w io.Writer, r results.Result) error {
	r = Clean(r)
	var lines []string
	for _, p := range r.Properties {
		if p.Verdict == checker.Fail {
			lines = append(lines, annotation("error", fmt.Sprintf("%s × %s: %s", r.Lock, r.Scenario, p.Name), failure(p)+"; again: "+r.Rerun))
		}
	}
	for _, g := range r.Gates {
		if g.Verdict == checker.Fail {
			lines = append(lines, annotation("error", fmt.Sprintf("%s × %s: gate %s", r.Lock, r.Scenario, g.Gate), "measured "+Value(g.Value, g.Unit)+"; again: "+r.Rerun))
		}
	}
	if r.Verdict == checker.Inconclusive {
		lines = append(lines, annotation("warning", fmt.Sprintf("%s × %s: inconclusive", r.Lock, r.Scenario), strings.Join(r.Notes, "; ")))
	}
	return write(w, lines)
}

// SuiteAnnotations writes a GitHub workflow command for each cell that is not as expected.
func SuiteAnnotations(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	var lines []string
	for _, c := range suite.Cells {
		title := fmt.Sprintf("%s × %s", c.Lock, c.Scenario)
		switch c.Verdict {
		case checker.Fail:
			lines = append(lines, annotation("error", title, c.Why+"; expected "+c.Expected+", observed "+c.Observed))
		case checker.Inconclusive:
			lines = append(lines, annotation("warning", title+": inconclusive", c.Why))
		}
	}
	return write(w, lines)
}

// annotation returns one workflow command, escaped for GitHub's runner.
func annotation(level, title, text string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return fmt.Sprintf("::%s title=%s::%s", level, property.Replace(title), data.Replace(text))
}
