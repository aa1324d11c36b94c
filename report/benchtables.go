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
func benchTables(b results.Bench) (all [][]Table) {
	if len(b.Knees) > 0 {
		return [][]Table{{kneeTable(b.Knees)}}
	}
	for _, cells := range BySetting(b.Cells) {
		var tables []Table
		add := func(heads []string, figures func(results.BenchCell) []string) {
			tables = append(tables, tableOf(cells, heads, figures))
		}
		switch s := cells[0].Setting; {
		case s.Crash:
			add([]string{s.String(), "recovery", "±"}, func(c results.BenchCell) []string {
				return append(figuresOf(c, "recovery"), spread(c.Figures["recovery"]))
			})
		case s.Rate > 0: // the offered and the achieved rate
			add([]string{s.String(), "achieved", "share", "late", "p50", "p99", "p99 sent", "cpu"}, func(c results.BenchCell) []string {
				return figuresOf(c, "throughput", "achieved", "late", "acquire.p50", "acquire.p99", "acquire.service.p99", "cpu")
			})
		default:
			tables = append(tables, costTable(cells, b.Plan.Reference))
			if s.Clients < 2 {
				break
			}
			add([]string{"hand-over", "p50", "p99", "trips", "even", "ahead", "longest"}, func(c results.BenchCell) []string {
				longest := c.Figures["longest-wait"]
				if longest.Value != nil {
					longest.Value = &longest.Highest
				}
				return append(figuresOf(c, "hand-over.p50", "hand-over.p99", "hand-over.trips.p50", "jain", "bypasses"), Figure(longest))
			})
		}
		if slices.ContainsFunc(cells, func(c results.BenchCell) bool {
			return c.Figures["fault.throughput"].Samples+c.Figures["fault.recovery"].Samples > 0
		}) {
			add([]string{"inside faults", "holds/s", "recovery"}, func(c results.BenchCell) []string {
				return figuresOf(c, "fault.throughput", "fault.recovery")
			})
		}
		all = append(all, tables)
	}
	return all
}

// figuresOf formats figures of a cell. "cpu" is the processor time of clients and servers per hold.
func figuresOf(c results.BenchCell, names ...string) (texts []string) {
	for _, name := range names {
		f := c.Figures[name]
		if name == "cpu" {
			f = c.Figures["client-cpu"]
			if server := c.Figures["server-cpu"].Value; f.Value != nil && server != nil {
				sum := *f.Value + *server
				f.Value = &sum
			}
		}
		texts = append(texts, Figure(f))
	}
	return texts
}

// tableOf makes a table of the locks that were measured, with the figures of each.
func tableOf(cells []results.BenchCell, heads []string, figures func(results.BenchCell) []string) Table {
	t := Table{Heads: heads}
	for _, c := range cells {
		name := Short(c.Lock, lockColumn)
		if c.Verdict == checker.Fail { // a property was violated
			name = Short(c.Lock, lockColumn-2) + " !"
		}
		if c.Verdict != checker.NotApplicable {
			t.Rows = append(t.Rows, append([]string{name}, figures(c)...))
		}
	}
	return t
}

func costTable(cells []results.BenchCell, reference string) Table {
	heads := []string{cells[0].Setting.String(), "holds/s", "±", "vs " + Short(reference, 5), "wait p50", "wait p99", "reqs", "cpu"}
	t := tableOf(cells, heads, func(c results.BenchCell) []string {
		f, versus := c.Figures["throughput"], ""
		switch r := f.Ratio; {
		case c.Reference || r == nil:
		case r.Low == nil:
			versus = digits(r.Value) + "?"
		case !r.Differs: // no difference is shown
			versus = "~"
		default:
			versus = digits(r.Value)
		}
		return append([]string{Figure(f), spread(f), versus}, figuresOf(c, "acquire.p50", "acquire.p99", "requests", "cpu")...)
	})
	for _, c := range cells {
		if c.Verdict == checker.NotApplicable {
			why, _, _ := strings.Cut(c.Why, "\n")
			t.Rows = append(t.Rows, []string{Short(c.Lock, lockColumn), why})
		}
	}
	return t
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

func kneeTable(knees []results.Knee) Table {
	t := Table{Heads: []string{"highest rate with " + knees[0].Limit, "holds/s", "±", ""}}
	for _, k := range knees {
		rate := Figure(k.Rate)
		if k.Rate.Value != nil && *k.Rate.Value == 0 {
			rate = "none"
		}
		t.Rows = append(t.Rows, []string{Short(k.Lock, lockColumn) + ", " + k.Setting.String(), rate, spread(k.Rate), KneeNote(k)})
	}
	return t
}
