package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Comparison writes the changes: verdicts first, then the figures like benchstat. It fits 80
// columns.
func Comparison(w io.Writer, c results.Comparison, s Style) error {
	return write(w, comparisonLines(Clean(c), s))
}

func comparisonLines(c results.Comparison, s Style) []string {
	lines := []string{compareHead(c, s)}
	for _, e := range c.Environment {
		lines = append(lines, s.paint(magenta, "differs")+fmt.Sprintf("   %s: %s → %s", e.Field, Short(e.Base, 30), Short(e.New, 30)))
	}
	lines = append(lines, changeLines(c.Changes, s)...)
	last := ""
	for _, r := range c.Rows {
		if at := r.Lock + " × " + r.Setting; at != last {
			last = at
			lines = append(lines, "", s.paint(bold, at), s.paint(bold, fmt.Sprintf("%-21s%10s %5s%10s %5s  %s", "", "base", "±", "new", "±", "vs base")))
		}
		name := "  " + r.Metric
		if r.Gated {
			name = "* " + r.Metric
		}
		lines = append(lines, fmt.Sprintf("%-21s%10s %5s%10s %5s  ", Short(name, 21), Figure(r.Base), spread(r.Base), Figure(r.New), spread(r.New))+Delta(r, s))
	}
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
	rows := []string{"", "| lock | setting | metric | base | new | vs base |", "|---|---|---|--:|--:|--:|"}
	for _, r := range c.Rows {
		if r.Gated {
			rows = append(rows, mdRow(r.Lock, r.Setting, r.Metric, figureText(r.Base), figureText(r.New), Delta(r, Style{})))
		}
	}
	if len(rows) > 3 {
		lines = append(lines, rows...)
	}
	return append(lines, notesMarkdown(c.Notes)...)
}

// figureText formats a figure with half the width of its interval.
func figureText(f results.Figure) string {
	text := Quantity(f.Value, f.Unit)
	if f.Value == nil || f.Low == nil || f.High == nil {
		return text
	}
	half := (*f.High - *f.Low) / 2
	return text + " ± " + Quantity(&half, f.Unit)
}

// ComparisonHeadline says in a word or two what a comparison came to, and of which class of verdict
// that is.
func ComparisonHeadline(c results.Comparison) (text string, class checker.Result) {
	switch c.Verdict {
	case results.CompareUnsafe:
		return "a lock that held breaks now", checker.Fail
	case results.CompareSlower:
		return "SLOWER", checker.Fail
	case results.CompareInconclusive:
		return Headline(checker.Inconclusive), checker.Inconclusive
	}
	return "nothing got worse", checker.Pass
}

func compareHead(c results.Comparison, s Style) string {
	text, class := ComparisonHeadline(c)
	if strings.ToUpper(text) == text { // one word, which is the verdict
		text = s.verdict(class, text)
	} else {
		text = s.verdict(class, Headline(class)) + "  " + text
	}
	return text + fmt.Sprintf("  %s: %s → %s", c.Kind, c.Base, c.New)
}

// Delta formats a change ("~" if it is not significant, "≈" before one below the threshold),
// its p-value, and the samples on each side.
func Delta(r results.ComparisonRow, s Style) string {
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

// othersListed is how many changes are listed of those that are neither better nor worse: on real
// servers they are many.
const othersListed = 10

func changeLines(changes []results.Change, s Style) (lines []string) {
	others := 0
	for _, c := range changes {
		if c.Change == results.Other {
			if others++; others > othersListed {
				continue
			}
		}
		kind := fmt.Sprintf("%-12s", c.Change)
		if c.Change == results.Broken || c.Change == results.Gone {
			kind = s.paint(red, kind)
		}
		lines = append(lines, fmt.Sprintf("%s  %s × %s: was %s, is %s", kind, c.Lock, c.Scenario, cmp.Or(c.Was, "nothing"), cmp.Or(c.Is, "nothing")))
	}
	if others > othersListed {
		lines = append(lines, fmt.Sprintf("other         %d more (-o json lists them)", others-othersListed))
	}
	return lines
}
