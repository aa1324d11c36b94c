package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// lockColumn is the width of the column of lock names.
const lockColumn = 23

// lockCell returns a lock's name in width characters, with a mark if a property was violated.
func lockCell(c results.BenchCell, width int) string {
	mark := ""
	if c.Verdict == checker.Fail {
		mark = " !"
	}
	return fmt.Sprintf("%-*s", width, Short(c.Lock, width-len(mark))+mark)
}

// titled returns a setting's name before the heads of its columns, or on a line of its own if it is
// too long.
func titled(cells []results.BenchCell, heads string, s Style) []string {
	title := cells[0].Setting.String()
	if len(title) < lockColumn {
		return []string{s.paint(bold, fmt.Sprintf("%-*s", lockColumn, title)+heads)}
	}
	return []string{s.paint(bold, title), s.paint(bold, strings.Repeat(" ", lockColumn)+heads)}
}

// costTable shows the cost of a hold.
func costTable(cells []results.BenchCell, reference string, s Style) []string {
	lines := titled(cells, fmt.Sprintf("%9s%6s%9s%10s%10s%6s%7s", "holds/s", "±", "vs "+Short(reference, 5), "wait p50", "wait p99", "reqs", "cpu"), s)
	for _, c := range cells {
		if c.Verdict == checker.NotApplicable {
			why, _, _ := strings.Cut(c.Why, "\n")
			lines = append(lines, lockCell(c, lockColumn)+"  "+Short(why, 78-lockColumn))
			continue
		}
		f := c.Figures
		lines = append(lines, lockCell(c, lockColumn)+fmt.Sprintf("%9s%6s%9s%10s%10s%6s%7s", Figure(f["throughput"]), spread(f["throughput"]), versus(c, f["throughput"]),
			Figure(f["acquire.p50"]), Figure(f["acquire.p99"]), Figure(f["requests"]), cpuCell(f)))
	}
	return lines
}

// cpuCell returns the CPU time per hold, of this process and of the servers.
func cpuCell(f map[string]results.Figure) string {
	client, server := f["client-cpu"].Value, f["server-cpu"].Value
	if client == nil {
		return "–"
	}
	sum := *client
	if server != nil {
		sum += *server
	}
	return Span(int64(sum))
}

// handOverTable shows hand-overs and fairness.
func handOverTable(cells []results.BenchCell, s Style) []string {
	if cells[0].Setting.Clients < 2 {
		return nil
	}
	lines := []string{s.paint(bold, fmt.Sprintf("  %-*s%9s%9s%9s%8s%8s%11s", lockColumn-2, "hand-over", "p50", "p99", "trips", "even", "ahead", "longest"))}
	for _, c := range cells {
		if c.Verdict == checker.NotApplicable {
			continue
		}
		f := c.Figures
		lines = append(lines, "  "+lockCell(c, lockColumn-2)+fmt.Sprintf("%9s%9s%9s%8s%8s%11s", Figure(f["hand-over.p50"]), Figure(f["hand-over.p99"]),
			Figure(f["hand-over.trips.p50"]), Figure(f["jain"]), Figure(f["bypasses"]), longest(f["longest-wait"])))
	}
	return lines
}

func longest(f results.Figure) string {
	if f.Value == nil {
		return "–"
	}
	return Span(int64(f.Highest))
}

// openTable shows the offered and the achieved rate.
func openTable(cells []results.BenchCell, s Style) []string {
	lines := titled(cells, fmt.Sprintf("%9s%8s%8s%8s%8s%9s%7s", "achieved", "share", "late", "p50", "p99", "p99 sent", "cpu"), s)
	for _, c := range cells {
		f := c.Figures
		lines = append(lines, lockCell(c, lockColumn)+fmt.Sprintf("%9s%8s%8s%8s%8s%9s%7s", Figure(f["throughput"]), Figure(f["achieved"]), Figure(f["late"]),
			Figure(f["acquire.p50"]), Figure(f["acquire.p99"]), Figure(f["acquire.service.p99"]), cpuCell(f)))
	}
	return lines
}

func crashTable(cells []results.BenchCell, s Style) []string {
	lines := []string{s.paint(bold, fmt.Sprintf("%-*s%12s%8s", lockColumn+12, cells[0].Setting.String(), "recovery", "±"))}
	for _, c := range cells {
		f := c.Figures["recovery"]
		lines = append(lines, fmt.Sprintf("%-*s%12s%8s", lockColumn+12, strings.TrimSpace(lockCell(c, lockColumn)), Figure(f), spread(f)))
	}
	return lines
}

// faultTable shows throughput and recovery inside the scenario's fault windows.
func faultTable(cells []results.BenchCell) []string {
	if !slices.ContainsFunc(cells, func(c results.BenchCell) bool {
		return c.Figures["fault.throughput"].Samples+c.Figures["fault.recovery"].Samples > 0
	}) {
		return nil
	}
	lines := []string{fmt.Sprintf("  %-*s%12s%14s", lockColumn-2, "inside faults", "holds/s", "recovery")}
	for _, c := range cells {
		lines = append(lines, "  "+lockCell(c, lockColumn-2)+fmt.Sprintf("%12s%14s", Figure(c.Figures["fault.throughput"]), Figure(c.Figures["fault.recovery"])))
	}
	return lines
}

// KneeNote describes a search without a highest rate: the first rate missed the limit, or none did.
func KneeNote(k results.Knee) string {
	switch {
	case k.Rate.Value != nil && *k.Rate.Value == 0 && len(k.Steps) > 0:
		return "even the first, " + Rate(k.Steps[0].Offered) + ", missed it"
	case k.Open:
		return "or more: the highest rate tried"
	}
	return ""
}

func kneeTable(knees []results.Knee) []string {
	lines := []string{"", fmt.Sprintf("%-*s%-16s%12s%8s  %s", lockColumn, "highest rate with", knees[0].Limit, "holds/s", "±", "")}
	for _, k := range knees {
		rate, note := Figure(k.Rate), KneeNote(k)
		if k.Rate.Value != nil && *k.Rate.Value == 0 {
			rate = "none"
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s%-16s%12s%8s  %s", lockColumn, k.Lock, k.Setting.String(), rate, spread(k.Rate), note), " "))
	}
	return lines
}

func detailLines(cells []results.BenchCell) []string {
	var lines []string
	for _, c := range cells {
		lines = append(lines, c.Lock+" × "+c.Setting.String())
		lines = append(lines, fmt.Sprintf("  %-22s%10s  %-23s%9s%11s", "metric", "median", "95 % interval", "ratio", "samples"))
		for _, m := range results.Metrics() {
			f, known := c.Figures[m.Name]
			if !known {
				continue
			}
			interval := "–"
			if f.Low != nil {
				interval = value(f.Low, f.Unit) + " to " + value(f.High, f.Unit)
			}
			lines = append(lines, fmt.Sprintf("  %-22s%10s  %-23s%9s%11s", m.Name, Figure(f), interval, versus(c, f), count(f.Samples)))
		}
	}
	return lines
}

// versus returns a figure's ratio to the reference; "~" if the difference is not significant.
func versus(c results.BenchCell, f results.Figure) string {
	switch {
	case c.Reference || f.Ratio == nil:
		return ""
	case f.Ratio.Low == nil:
		return digits(f.Ratio.Value) + "?"
	case !f.Ratio.Differs:
		return "~"
	}
	return digits(f.Ratio.Value)
}
