package main

import (
	"fmt"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/report"
)

// runProgress returns the status line of a run, most important first, because a narrow terminal cuts the rest.
func runProgress(e harness.Experiment, p harness.Progress) string {
	parts := []string{elapsed(p), pace(e.Scenario.Rate, p), number(p.Overlaps, "overlapping uses")}
	if p.Current != "" {
		parts = append(parts, "now: "+p.Current)
	}
	if p.P99 > 0 {
		parts = append(parts, "p50 "+report.Span(p.P50)+" p99 "+report.Span(p.P99))
	}
	parts = append(parts, granted(p), number(p.Refused, "refused"), number(p.Failed, "failed"), number(p.Unknown, "unknown"), number(p.Faults, "faults"))
	return facts(append(parts, e.Variant.Name+" × "+e.Scenario.Name)...)
}

// elapsed formats the phase and the time spent in it.
func elapsed(p harness.Progress) string {
	text := p.Phase + " " + seconds(p.Elapsed)
	if p.Total > 0 {
		text += "/" + seconds(p.Total)
	}
	return text
}

// pace formats the rate of grants, and the offered rate if there is one.
func pace(offered float64, p harness.Progress) string {
	if p.Elapsed <= 0 || p.Rounds == 0 {
		return ""
	}
	achieved := fmt.Sprintf("%.0f", float64(p.Rounds)/p.Elapsed.Seconds())
	if offered > 0 {
		return fmt.Sprintf("%s of %g/s", achieved, offered)
	}
	return achieved + "/s"
}

// granted formats how many acquires were granted, of how many.
func granted(p harness.Progress) string {
	if p.Rounds > 0 && p.Expected > 0 {
		return fmt.Sprintf("%d/%d granted", p.Rounds, p.Expected)
	}
	return number(p.Rounds, "granted")
}
