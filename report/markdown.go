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
	lines = append(lines, fmt.Sprintf("on %s, seed %d", md(ServerOf(r.Server, r.Product)), r.Seed), "", "| property | verdict | violations | of | 95 % interval | causes |", "|---|---|--:|--:|--:|---|")
	for _, p := range r.Properties {
		row := []string{"", "", "", p.Note}
		if p.Verdict == checker.Pass || p.Verdict == checker.Fail {
			row = []string{Count(p.Violations), Count(p.Opportunities), Percent(p.CI95[0]) + " – " + Percent(p.CI95[1]), PropertyCauses(p)}
		}
		lines = append(lines, mdRow(append([]string{string(p.Name), string(p.Verdict)}, row...)...))
	}
	lines = append(lines, gatesMarkdown(r.Gates)...)
	if firsts := Firsts(&r); len(firsts) > 0 {
		first := firsts[0]
		lines = append(lines, "", fmt.Sprintf("First violation, at %s: %s by %s", Instant(first.At), md(string(first.Property)), md(string(first.Cause))), "", fence+"text")
		for _, line := range slices.Concat(first.Story, first.Lanes) {
			lines = append(lines, strings.ReplaceAll(line, fence, "'''"))
		}
		lines = append(lines, fence)
	}
	if text := DamageText(r); text != "" {
		lines = append(lines, "", text)
	}
	t := LatencyTable(r)
	switch {
	case r.NoLatency != "":
		lines = append(lines, "", md(r.NoLatency))
	case len(t.Rows) > 0:
		if lines = append(append(lines, ""), t.markdown()...); r.Load.Open {
			lines = append(lines, "", openFoot)
		}
	}
	return write(w, append(append(lines, notesMarkdown(r.Notes)...), "", "Run again: "+code(r.Rerun)))
}

func notesMarkdown(notes []string) (lines []string) {
	for _, n := range notes {
		lines = append(lines, "", "> "+md(n))
	}
	return lines
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

// SuiteMarkdown writes the matrix of a suite, the planted bugs, and the cells that are not as
// expected.
func SuiteMarkdown(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	locks, planted := locksAndPlanted(suite.Cells)
	lines := []string{"## " + Headline(suite.Verdict) + ": " + md(SuiteSummary(suite))}
	if len(locks) > 0 {
		m := newMatrix(locks)
		lines = append(lines, "", mdRow(append([]string{""}, m.scenarios...)...), "|---"+strings.Repeat("|:-:", len(m.scenarios))+"|")
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
		lines = append(lines, "")
		for _, e := range endingsOf(locks) {
			lines = append(lines, fmt.Sprintf("- %s: %s", ending(e), e.About()))
		}
	}
	for i, c := range planted {
		if i == 0 {
			lines = append(lines, "", "| planted bug | scenario | |", "|---|---|---|")
		}
		lines = append(lines, mdRow(c.Lock, c.Scenario, Caught(c)))
	}
	for _, c := range suite.Cells {
		if Unexpected(c) {
			lines = append(lines, "", fmt.Sprintf("- **%s × %s** (%s): %s. Expected %s, observed %s.", md(c.Lock), md(c.Scenario), md(string(c.Verdict)),
				md(strings.TrimSuffix(c.Why, ".")), code(c.Expected), code(c.Observed)))
		}
	}
	return write(w, append(lines, "", "Sensitivity: "+md(sensitivityText(suite.Sensitivity))+".", "", "Run again: "+code(suite.Rerun)))
}

// BenchSummary writes a bench as Markdown, with the tables that the terminal shows.
func BenchSummary(w io.Writer, b results.Bench) error {
	b = Clean(b)
	lines := []string{fmt.Sprintf("## Bench on %s: %s", md(b.Server), Headline(b.Verdict)), "",
		fmt.Sprintf("%s of %s, interleaved; seed %d", Plural(b.Plan.Repetitions, "repetition"), Span(b.Plan.Measure), b.Seed)}
	lines = append(lines, gatesMarkdown(b.Gates)...)
	for _, t := range slices.Concat(benchTables(b)...) {
		lines = append(append(lines, ""), t.markdown()...)
	}
	for _, foot := range columnFeet(b) {
		lines = append(lines, "", md(foot))
	}
	if b.Baseline != nil {
		lines = append(lines, comparisonMarkdown(*b.Baseline)...)
	}
	lines = append(lines, notesMarkdown(b.Notes)...)
	return write(w, append(lines, "", "Run again: "+code(b.Rerun)))
}

// ending sets an ending that harms in bold.
func ending(e results.Ending) string {
	if e == results.Two || e == results.Stuck {
		return "**" + string(e) + "**"
	}
	return string(e)
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
