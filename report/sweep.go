package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// Sweep writes a table by the size of a fault: each property's rate of violations with its 95 %
// interval.
func Sweep(w io.Writer, x results.Sweep, s Style) error {
	x = Clean(x)
	lines := []string{s.verdict(x.Verdict, Headline(x.Verdict)) + fmt.Sprintf("  %s × %s by %s  (%s, seed %d)", x.Lock, x.Scenario, x.Parameter, x.Server, x.Seed), ""}
	lines = append(lines, sweepTable(x)...)
	lines = append(lines, "", "violations per opportunity with the 95 % interval; violated runs of all runs")
	if len(x.Points) < x.Asked {
		lines = append(lines, fmt.Sprintf("stopped after %d of %s", len(x.Points), Plural(x.Asked, "point")))
	}
	for _, n := range x.Notes {
		lines = append(lines, noted(13, n, s)...)
	}
	return write(w, append(lines, again("again        ", x.Rerun)...))
}

func sweepTable(x results.Sweep) []string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, x.Parameter)
	for _, name := range results.SweptProperties() {
		fmt.Fprintf(t, "\t%s", name)
	}
	fmt.Fprint(t, "\truns")
	fmt.Fprintln(t)
	for _, p := range x.Points {
		fmt.Fprint(t, p.Size)
		for _, name := range results.SweptProperties() {
			fmt.Fprintf(t, "\t%s", sweepCell(p, name))
		}
		fmt.Fprintf(t, "\t%d of %d\n", p.Violated, p.Runs)
	}
	_ = t.Flush() // into memory
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for _, p := range x.Points {
		for _, line := range failoverLines(p.Failovers) {
			lines = append(lines, p.Size+": "+line)
		}
	}
	return lines
}

func sweepCell(p results.SweepPoint, name verdicts.Property) string {
	i := slices.IndexFunc(p.Properties, func(one checker.Property) bool { return one.Name == name })
	if i < 0 || p.Properties[i].Verdict == checker.NotApplicable {
		return "n/a"
	}
	one := p.Properties[i]
	return fmt.Sprintf("%s (%s to %s)", Percent(one.Rate), strings.TrimSuffix(Percent(one.CI95[0]), " %"), Percent(one.CI95[1]))
}
