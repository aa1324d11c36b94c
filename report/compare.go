package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// Comparison writes the changes: verdicts first, then the figures like benchstat. It fits 80
// columns.
func Comparison(w io.Writer, c results.Comparison, s Style) error {
	c = Clean(c)
	lines, others := []string{compareHead(c, s)}, 0
	for _, e := range c.Environment {
		lines = append(lines, s.paint(magenta, "differs")+fmt.Sprintf("   %s: %s → %s", e.Field, Short(e.Base, 30), Short(e.New, 30)))
	}
	for _, x := range c.Changes {
		if x.Change == results.Other {
			others++
			continue
		}
		colour := blue
		if x.Change == results.Broken || x.Change == results.Gone {
			colour = red
		}
		lines = append(lines, s.paint(colour, string(x.Change))+"  "+strings.TrimSuffix(fmt.Sprintf("%s × %s: %s → %s", x.Lock, x.Scenario, x.Was, x.Is), " → "))
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("other   %s as expected, as before, but observed other breaks (-o json lists them)", Plural(others, "cell")))
	}
	last := ""
	for _, r := range c.Rows {
		if at := r.Lock + " × " + r.Setting; at != last {
			last = at
			lines = append(lines, "", s.paint(bold, at), s.paint(bold, fmt.Sprintf("%-21s%10s%5s%10s%5s  %s", "", "base", "±", "new", "±", "vs base")))
		}
		lines = append(lines, compareRow(r, s))
	}
	return write(w, lines, compareFeet(c))
}

// ComparisonMarkdown writes a comparison as Markdown: what changed, and the gated figures.
func ComparisonMarkdown(w io.Writer, c results.Comparison) error {
	return write(w, comparisonMarkdown(Clean(c)))
}

func comparisonMarkdown(c results.Comparison) []string {
	lines := []string{"", "### " + md(compareHead(c, Style{})), ""}
	for _, e := range c.Environment {
		lines = append(lines, fmt.Sprintf("- differs: %s: %s → %s", md(e.Field), md(e.Base), md(e.New)))
	}
	for _, x := range c.Changes {
		lines = append(lines, fmt.Sprintf("- **%s**: %s × %s: %s → %s", md(string(x.Change)), md(x.Lock), md(x.Scenario), md(x.Was), md(x.Is)))
	}
	head := false
	for _, r := range c.Rows {
		if !r.Gated {
			continue
		}
		if !head {
			lines, head = append(lines, "", "| lock | setting | metric | base | new | vs base |", "|---|---|---|--:|--:|--:|"), true
		}
		lines = append(lines, mdRow(r.Lock, r.Setting, r.Metric, figureText(r.Base), figureText(r.New), Delta(r)))
	}
	for _, n := range c.Notes {
		lines = append(lines, "", "> "+md(n))
	}
	return lines
}

// ComparisonHeadline says in a word or two what a comparison came to, and of which class of verdict
// that is.
func ComparisonHeadline(c results.Comparison) (text, class string) {
	switch c.Verdict {
	case results.CompareUnsafe:
		return "a lock that held breaks now", "fail"
	case results.CompareSlower:
		return "SLOWER", "fail"
	case results.CompareInconclusive:
		return "INCONCLUSIVE", "inconclusive"
	}
	return "nothing got worse", "pass"
}

func compareHead(c results.Comparison, s Style) string {
	words := map[results.CompareVerdict]string{results.CompareUnsafe: s.paint(red, "FAIL") + "  a lock that held breaks now",
		results.CompareSlower:       s.paint(red, "SLOWER"),
		results.CompareInconclusive: s.paint(magenta, "INCONCLUSIVE"), results.ComparePass: s.paint(blue, "PASS") + "  nothing got worse"}
	return words[c.Verdict] + fmt.Sprintf("  %s: %s → %s", c.Kind, c.Base, c.New)
}

func compareRow(r results.ComparisonRow, s Style) string {
	name := "  " + r.Metric
	if r.Gated {
		name = "* " + r.Metric
	}
	text := fmt.Sprintf("%-21s%10s%5s%10s%5s  ", Short(name, 21), Figure(r.Base), spread(r.Base), Figure(r.New), spread(r.New))
	return text + deltaCell(r, s)
}

// deltaCell formats a change ("~" if it is not significant, "≈" before one below the threshold),
// its p-value, and the samples on each side.
func deltaCell(r results.ComparisonRow, s Style) string {
	delta := ""
	if r.Delta != nil {
		delta = fmt.Sprintf("%+.1f%%", 100**r.Delta)
		if *r.Delta >= 1 { // without a decimal, which would not fit
			delta = fmt.Sprintf("%+.0f%%", 100**r.Delta)
		}
	}
	size := fmt.Sprintf("n=%d", r.N1)
	if r.N1 != r.N2 {
		size = fmt.Sprintf("n=%d+%d", r.N1, r.N2)
	}
	switch r.Mark {
	case results.MarkFewer:
		return fmt.Sprintf("– (%s, need %d)", size, r.Need)
	case results.MarkOnlyBase, results.MarkOnlyNew:
		return r.Mark
	case results.MarkNone:
		return "~ " + chance(r) + size
	case results.MarkHidden:
		return fmt.Sprintf("? ≤ %.0f%% worse %s", 100**r.Worst, size)
	case results.MarkSmall:
		return "≈ " + delta + " " + chance(r) + size
	}
	colour := blue
	if r.Mark == results.MarkWorse {
		colour = red
	}
	return s.paint(colour, delta+" "+r.Mark) + " " + chance(r) + size
}

// chance formats the p-value of a row.
func chance(r results.ComparisonRow) string {
	switch {
	case r.P == nil:
		return ""
	case *r.P < 0.001:
		return "p<.001 "
	}
	return "p=" + strings.TrimPrefix(strconv.FormatFloat(*r.P, 'f', 3, 64), "0") + " "
}

// Delta formats the change of a row's figure and its significance.
func Delta(r results.ComparisonRow) string { return deltaCell(r, Style{}) }

func compareFeet(c results.Comparison) []string {
	var lines []string
	if len(c.Rows) > 0 {
		lines = append(lines, "", fmt.Sprintf("*  gated; ~ no significant difference (Mann-Whitney U, p > %s);", small(c.Alpha)),
			fmt.Sprintf("   ≈ significant, but less than %s; ± is half of the 95 %% interval", Percent(c.Threshold)))
		if c.Noisy() {
			lines = append(lines, "   ? nothing shown, but the noise could hide a change as large as it says")
		}
	}
	for _, n := range c.Notes {
		lines = append(lines, wrapped("note      ", n)...)
	}
	return lines
}

// othersListed is how many changes are listed of those that are neither better nor worse: on real
// servers they are many.
const othersListed = 10

func changeLines(suite results.Suite, s Style) []string {
	if suite.Baseline == "" {
		return nil
	}
	lines := []string{"", fmt.Sprintf("against %s: %s", suite.Baseline, Plural(len(suite.Changes), "change"))}
	others := 0
	for _, c := range suite.Changes {
		if c.Change == results.Other {
			if others++; others > othersListed {
				continue
			}
		}
		kind := fmt.Sprintf("%-12s", c.Change)
		if c.Change == results.Broken || c.Change == results.Gone {
			kind = s.paint(magenta, kind)
		}
		lines = append(lines, fmt.Sprintf("%s  %s × %s: was %s, is %s", kind, c.Lock, c.Scenario, cmp.Or(c.Was, "nothing"), cmp.Or(c.Is, "nothing")))
	}
	if others > othersListed {
		lines = append(lines, fmt.Sprintf("other         %d more (-o json lists them)", others-othersListed))
	}
	return lines
}
