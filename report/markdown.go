package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// RunMarkdown writes the summary of a run as Markdown.
func RunMarkdown(w io.Writer, r results.Result) error {
	r = Clean(r)
	why, then := Inherent(r)
	lines := []string{fmt.Sprintf("## %s: %s × %s", strings.TrimSpace(Headline(r.Verdict)+" "+why), md(r.Lock), md(scenarioOf(r))), ""}
	if then != "" {
		lines = append(lines, then, "")
	}
	lines = append(lines, fmt.Sprintf("on %s, seed %d", md(serverOf(r.Server, r.Product)), r.Seed), "", "| property | verdict | violations | of | 95 % interval | causes |", "|---|---|--:|--:|--:|---|")
	for _, p := range r.Properties {
		lines = append(lines, propertyRow(p))
	}
	lines = append(lines, gatesMarkdown(r.Gates)...)
	if first := firstViolation(r); first != nil {
		lines = append(lines, "", fmt.Sprintf("First violation, at %s: %s by %s", Instant(first.At), md(string(first.Property)), md(string(first.Cause))), "", fence+"text")
		for _, line := range slices.Concat(first.Story, first.Lanes) {
			lines = append(lines, strings.ReplaceAll(line, fence, "'''"))
		}
		lines = append(lines, fence)
	}
	if text := DamageText(r); text != "" {
		lines = append(lines, "", text)
	}
	lines = append(lines, latencyMarkdown(r)...)
	for _, n := range r.Notes {
		lines = append(lines, "", "> "+md(n))
	}
	return write(w, append(lines, "", "Run again: "+code(r.Rerun)))
}

func gatesMarkdown(gates []results.GateResult) (lines []string) {
	for i, g := range gates {
		if i == 0 {
			lines = append(lines, "", "| gate | verdict | measured |", "|---|---|--:|")
		}
		lines = append(lines, mdRow(strings.TrimSpace(g.Gate+" "+gatePlace(g)), string(g.Verdict), strings.TrimSpace(value(g.Value, g.Unit)+" "+g.Why)))
	}
	return lines
}

func propertyRow(p checker.Property) string {
	if p.Verdict == checker.NotApplicable || p.Verdict == checker.Inconclusive {
		return mdRow(string(p.Name), string(p.Verdict), "", "", "", p.Note)
	}
	return mdRow(string(p.Name), string(p.Verdict), count(p.Violations), count(p.Opportunities),
		Percent(p.CI95[0])+" – "+Percent(p.CI95[1]), PropertyCauses(p))
}

func latencyMarkdown(r results.Result) []string {
	if r.NoLatency != "" {
		return []string{"", md(r.NoLatency)}
	}
	t := latencyTable(r, len(latencyOrder))
	switch {
	case len(t.rows) == 0:
		return nil
	case r.Load.Open:
		return append(append([]string{""}, t.markdown()...), "", openFoot)
	}
	return append([]string{""}, t.markdown()...)
}

// SuiteMarkdown writes the matrix of a suite, the planted bugs, and the cells that are not as
// expected.
func SuiteMarkdown(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	locks, planted := locksAndPlanted(suite.Cells)
	lines := []string{"## " + Headline(suite.Verdict) + ": " + md(SuiteSummary(suite))}
	if len(locks) > 0 {
		lines = append(append(lines, ""), newMatrix(locks).markdown()...)
		lines = append(lines, "")
		for _, e := range results.Endings() {
			if slices.ContainsFunc(locks, func(c results.Cell) bool { return c.Ending() == e }) {
				lines = append(lines, fmt.Sprintf("- %s: %s", ending(e), e.About()))
			}
		}
	}
	lines = append(lines, plantedMarkdown(planted)...)
	for _, c := range suite.Cells {
		if c.Verdict == checker.Fail || c.Verdict == checker.Inconclusive {
			lines = append(lines, "", fmt.Sprintf("- **%s × %s** (%s): %s. Expected %s, observed %s.", md(c.Lock), md(c.Scenario), md(string(c.Verdict)),
				md(strings.TrimSuffix(c.Why, ".")), code(c.Expected), code(c.Observed)))
		}
	}
	lines = append(lines, "", "Sensitivity: "+md(sensitivityText(suite.Sensitivity))+".")
	return write(w, append(lines, "", "Run again: "+code(suite.Rerun)))
}

func (m matrix) markdown() []string {
	lines := []string{mdRow(append([]string{""}, m.scenarios...)...), "|---" + strings.Repeat("|:-:", len(m.scenarios)) + "|"}
	for _, lock := range m.locks {
		row := []string{lock}
		for _, scenario := range m.scenarios {
			mark := " "
			if c, ok := m.cells[[2]string{lock, scenario}]; ok {
				mark = marked(c, ending(c.Ending()))
			}
			row = append(row, mark)
		}
		lines = append(lines, mdRow(row...))
	}
	return lines
}

// ending sets an ending that harms in bold.
func ending(e results.Ending) string {
	if e == results.Two || e == results.Stuck {
		return "**" + string(e) + "**"
	}
	return string(e)
}

func plantedMarkdown(planted []results.Cell) []string {
	if len(planted) == 0 {
		return nil
	}
	lines := []string{"", "| planted bug | scenario | |", "|---|---|---|"}
	for _, c := range planted {
		lines = append(lines, mdRow(c.Lock, c.Scenario, Caught(c)))
	}
	return lines
}

// fence encloses a story, from which fences are removed.
const fence = "```"

func code(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + strings.ReplaceAll(text, "``", "` `") + " ``"
	}
	return "`" + text + "`"
}

// mdRow returns a row of a table, with every cell escaped.
func mdRow(cells ...string) string {
	row := "|"
	for _, c := range cells {
		row += strings.TrimRight(" "+md(c), " ") + " |"
	}
	return row
}

func md(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
