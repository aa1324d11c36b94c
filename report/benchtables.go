package report

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// lockColumn is the most characters of a lock's name in a table.
const lockColumn = 22

// benchTables returns the tables of a bench, those of one setting together: what holds cost and how
// they are handed over, or the rates that were searched for.
func benchTables(b results.Bench) (all [][]table) {
	if len(b.Knees) > 0 {
		return [][]table{{kneeTable(b.Knees)}}
	}
	for _, cells := range BySetting(b.Cells) {
		switch s := cells[0].Setting; {
		case s.Crash:
			all = append(all, []table{recoveryTable(cells)})
		case s.Rate > 0:
			all = append(all, []table{openTable(cells)})
		case s.Clients < 2:
			all = append(all, []table{costTable(cells, b.Plan.Reference)})
		default:
			all = append(all, []table{costTable(cells, b.Plan.Reference), handOverTable(cells)})
		}
		if slices.ContainsFunc(cells, func(c results.BenchCell) bool {
			return c.Figures["fault.throughput"].Samples+c.Figures["fault.recovery"].Samples > 0
		}) {
			all[len(all)-1] = append(all[len(all)-1], faultTable(cells))
		}
	}
	return all
}

// tableOf makes a table of the locks that were measured, with the figures of each.
func tableOf(cells []results.BenchCell, heads []string, figures func(results.BenchCell) []string) table {
	t := table{heads: heads}
	for _, c := range cells {
		name := Short(c.Lock, lockColumn)
		if c.Verdict == checker.Fail { // a property was violated
			name = Short(c.Lock, lockColumn-2) + " !"
		}
		if c.Verdict != checker.NotApplicable {
			t.rows = append(t.rows, append([]string{name}, figures(c)...))
		}
	}
	return t
}

func costTable(cells []results.BenchCell, reference string) table {
	heads := []string{cells[0].Setting.String(), "holds/s", "±", "vs " + Short(reference, 5), "wait p50", "wait p99", "reqs", "cpu"}
	t := tableOf(cells, heads, func(c results.BenchCell) []string {
		f := c.Figures
		return []string{Figure(f["throughput"]), spread(f["throughput"]), versus(c, f["throughput"]), Figure(f["acquire.p50"]), Figure(f["acquire.p99"]), Figure(f["requests"]), cpuCell(f)}
	})
	for _, c := range cells {
		if c.Verdict == checker.NotApplicable {
			why, _, _ := strings.Cut(c.Why, "\n")
			t.rows = append(t.rows, []string{Short(c.Lock, lockColumn), why})
		}
	}
	return t
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
func handOverTable(cells []results.BenchCell) table {
	return tableOf(cells, []string{"hand-over", "p50", "p99", "trips", "even", "ahead", "longest"}, func(c results.BenchCell) []string {
		f := c.Figures
		longest := "–"
		if f["longest-wait"].Value != nil {
			longest = Span(int64(f["longest-wait"].Highest))
		}
		return []string{Figure(f["hand-over.p50"]), Figure(f["hand-over.p99"]), Figure(f["hand-over.trips.p50"]), Figure(f["jain"]), Figure(f["bypasses"]), longest}
	})
}

// openTable shows the offered and the achieved rate.
func openTable(cells []results.BenchCell) table {
	return tableOf(cells, []string{cells[0].Setting.String(), "achieved", "share", "late", "p50", "p99", "p99 sent", "cpu"}, func(c results.BenchCell) []string {
		f := c.Figures
		return []string{Figure(f["throughput"]), Figure(f["achieved"]), Figure(f["late"]), Figure(f["acquire.p50"]), Figure(f["acquire.p99"]), Figure(f["acquire.service.p99"]), cpuCell(f)}
	})
}

func recoveryTable(cells []results.BenchCell) table {
	return tableOf(cells, []string{cells[0].Setting.String(), "recovery", "±"}, func(c results.BenchCell) []string {
		return []string{Figure(c.Figures["recovery"]), spread(c.Figures["recovery"])}
	})
}

// faultTable shows throughput and recovery inside the scenario's fault windows.
func faultTable(cells []results.BenchCell) table {
	return tableOf(cells, []string{"inside faults", "holds/s", "recovery"}, func(c results.BenchCell) []string {
		return []string{Figure(c.Figures["fault.throughput"]), Figure(c.Figures["fault.recovery"])}
	})
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

func kneeTable(knees []results.Knee) table {
	t := table{heads: []string{"highest rate with " + knees[0].Limit, "holds/s", "±", ""}}
	for _, k := range knees {
		rate := Figure(k.Rate)
		if k.Rate.Value != nil && *k.Rate.Value == 0 {
			rate = "none"
		}
		t.rows = append(t.rows, []string{Short(k.Lock, lockColumn) + ", " + k.Setting.String(), rate, spread(k.Rate), KneeNote(k)})
	}
	return t
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
