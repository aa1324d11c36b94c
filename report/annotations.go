package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// RunAnnotations writes a GitHub workflow command for each violated property and failed gate of a
// run.
func RunAnnotations(w io.Writer, r results.Result) error {
	r = Clean(r)
	of := r.Lock + " × " + scenarioOf(r)
	var lines []string
	for _, p := range r.Properties {
		if p.Verdict == checker.Fail {
			lines = append(lines, annotation("error", of+": "+string(p.Name), failure(p)+"; again: "+r.Rerun))
		}
	}
	lines = append(lines, gateAnnotations(of, r.Gates, r.Rerun)...)
	if r.Verdict == checker.Inconclusive {
		lines = append(lines, annotation("warning", of+": inconclusive", strings.Join(r.Notes, "; ")))
	}
	return write(w, lines)
}

func gateAnnotations(of string, gates []results.GateResult, rerun string) (lines []string) {
	for _, g := range gates {
		if g.Verdict == checker.Fail {
			lines = append(lines, annotation("error", of+": gate "+g.Gate, "measured "+value(g.Value, g.Unit)+"; again: "+rerun))
		}
	}
	return lines
}

// BenchAnnotations writes a GitHub workflow command for each lock that broke, each failed gate, and
// each figure worse than the baseline's.
func BenchAnnotations(w io.Writer, b results.Bench) error {
	b = Clean(b)
	var lines []string
	for _, c := range b.Cells {
		for _, br := range c.Breaks {
			lines = append(lines, annotation("error", fmt.Sprintf("%s, %s: %s", c.Lock, c.Setting, br.Property), Plural(br.Violations, "violation")+" by "+Causes(br.Causes)+"; again: "+b.Rerun))
		}
	}
	for _, g := range b.Gates {
		lines = append(lines, gateAnnotations(g.Lock+", "+g.Setting, []results.GateResult{g}, b.Rerun)...)
	}
	if b.Baseline != nil {
		for _, r := range b.Baseline.Rows {
			if r.Gated && r.Mark == results.MarkWorse {
				lines = append(lines, annotation("error", fmt.Sprintf("%s, %s: %s", r.Lock, r.Setting, r.Metric), fmt.Sprintf("%s, was %s; again: %s", figureText(r.New), figureText(r.Base), b.Rerun)))
			}
		}
	}
	if b.Verdict == checker.Inconclusive || b.Baseline != nil && b.Baseline.Verdict == results.CompareInconclusive {
		lines = append(lines, annotation("warning", "bench: inconclusive", strings.Join(b.Notes, "; ")))
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
