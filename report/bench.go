package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Bench writes a bench: verdict and gates, then the costs and hand-overs for each setting, the
// violations, and the command to run it again. It fits 80 columns.
func Bench(w io.Writer, b results.Bench, kept Kept, s Style) error {
	b, kept = Clean(b), Clean(kept)
	what := fmt.Sprintf("%s × %s × %s of %s  on %s, seed %d", LocksOf(b.Plan),
		Plural(len(b.Plan.Settings), "setting"), Plural(b.Plan.Repetitions, "repetition"), Span(b.Plan.Measure), b.Server, b.Seed)
	if b.Shard != nil {
		what += ", shard " + b.Shard.String()
	}
	head := Headline(b.Verdict) + "  "
	lines := []string{head + what}
	if utf8.RuneCountInString(lines[0]) > screen {
		lines = wrapped(head, what)
	}
	lines = s.first(b.Verdict, Headline(b.Verdict), lines)
	var facts []string
	if b.RoundTrip.Value != nil {
		facts = append(facts, "round trip "+Figure(b.RoundTrip))
	}
	if len(b.Nodes) > 0 && b.Nodes[0].Version != "" {
		facts = append(facts, b.Nodes[0].Product())
	}
	if b.Environment.CPUs > 0 {
		facts = append(facts, Plural(b.Environment.CPUs, "CPU"))
	}
	lines = append(lines, strings.Join(append(facts, "lease "+Span(b.Plan.Lease), "took "+Span(b.Duration)), "   "))
	if answer := BenchAnswer(b); answer != "" {
		lines = append(lines, wrapped("", answer)...)
	}
	lines = append(lines, gateLines(b.Gates, s)...)
	for _, tables := range benchTables(b) {
		lines = append(lines, "")
		for _, t := range tables {
			lines = append(lines, t.text(s)...)
		}
	}
	lines = slices.Concat(lines, breakLines(b.Cells, s), benchFeet(b), noteLines(b.Notes, len(b.Notes), s), kept.lines("bench"), again("again     ", b.Rerun))
	if b.Baseline != nil {
		lines = append(append(lines, ""), comparisonLines(Clean(*b.Baseline), s)...)
	}
	return write(w, lines)
}

// bareLoop is the name of the reference that is no lock.
const bareLoop = "bare"

// LocksOf says how many locks a bench compares, and whether with the bare loop of their commands.
func LocksOf(p results.BenchPlan) string {
	if p.Reference != bareLoop || !slices.Contains(p.Locks, bareLoop) {
		return Plural(len(p.Locks), "lock")
	}
	return Plural(len(p.Locks)-1, "lock") + " and the bare loop"
}

// gateLines shows each gate with the measured value.
func gateLines(gates []results.GateResult, s Style) (lines []string) {
	for _, g := range gates {
		head := fmt.Sprintf("%s  %-30s %12s", word(g.Verdict), g.Gate, value(g.Value, g.Unit))
		rest := strings.TrimSuffix(gatePlace(g)+"  "+g.Why, "  ")
		rows := []string{head + "  " + rest}
		if utf8.RuneCountInString(rows[0]) > screen {
			rows = append([]string{head}, wrapped(strings.Repeat(" ", len(word(g.Verdict))+2), rest)...)
		}
		lines = append(lines, s.first(g.Verdict, word(g.Verdict), rows)...)
	}
	return lines
}

// gatePlace names the lock and setting of a bench's gate; "" for a run's.
func gatePlace(g results.GateResult) string {
	return strings.TrimPrefix(strings.TrimSuffix(g.Lock+" × "+g.Setting, " × "), " × ")
}

// BySetting returns the cells of each setting, in their order.
func BySetting(cells []results.BenchCell) (out [][]results.BenchCell) {
	for _, c := range cells {
		if last := len(out) - 1; last >= 0 && out[last][0].Setting == c.Setting {
			out[last] = append(out[last], c)
		} else {
			out = append(out, []results.BenchCell{c})
		}
	}
	return out
}

// spread formats half of a figure's interval as a percentage of its value; "–" if there is no
// interval.
func spread(f results.Figure) string {
	if f.Value == nil || f.Low == nil || *f.Value == 0 {
		return "–"
	}
	half := max(*f.High / *f.Value - 1, 1 - *f.Low / *f.Value)
	return fmt.Sprintf("%.0f%%", 100*half)
}

// breakLines lists the violations and errors during the measurement, each setting's first with the
// first four lines of its story.
func breakLines(cells []results.BenchCell, s Style) []string {
	lines := []string{""}
	for _, c := range cells {
		for i, b := range c.Breaks {
			text := fmt.Sprintf("%s × %s: %s, %s: %s", c.Lock, c.Setting, b.Property, Plural(b.Violations, "violation"), Causes(b.Causes))
			lines = append(lines, s.paintAll(red, wrapped("! ", strings.TrimSuffix(text, ": ")))...)
			for n := 0; i == 0 && n < min(len(b.Story), 4); n++ {
				lines = append(lines, "    "+Short(b.Story[n], 76))
			}
		}
		if len(c.Errors) > 0 {
			e := c.Errors[0]
			text := fmt.Sprintf("%s × %s: %s ended in an error: %s", c.Lock, c.Setting, Plural(e.Count, e.Op), e.Error)
			lines = append(lines, s.paintAll(magenta, wrapped("! ", text))...)
		}
	}
	return unlessAlone(lines)
}

// unlessAlone drops the head of a part that has nothing below it.
func unlessAlone(lines []string) []string {
	if len(lines) == 1 {
		return nil
	}
	return lines
}

// benchFeet explains the marks that replace figures.
func benchFeet(b results.Bench) []string {
	lines := []string{""}
	notShown, fewer := false, map[string]bool{}
	inTables := []string{"acquire.p50", "acquire.p99", "hand-over.p50", "hand-over.p99", "hand-over.trips.p50"}
	for _, c := range b.Cells {
		r := c.Figures["throughput"].Ratio
		notShown = notShown || r != nil && !r.Differs && r.Low != nil
		for name, f := range c.Figures {
			if f.Value == nil && slices.Contains(inTables, name) {
				m, _ := results.FindMetric(name)
				fewer[fmt.Sprintf("%s of %s × %s: %s; each of %s needs %s", name, c.Lock, c.Setting, Plural(f.Samples, "sample"),
					Plural(b.Plan.Repetitions, "repetition"), Count(max(m.Need, 1)))] = true
			}
		}
	}
	if notShown {
		lines = append(lines, "~  no difference shown from "+b.Plan.Reference)
	}
	for i, text := range slices.Sorted(maps.Keys(fewer)) {
		if i == 3 {
			lines = append(lines, fmt.Sprintf("   and %d more; a longer --duration gives more samples", len(fewer)-3))
			break
		}
		lines = append(lines, wrapped("–  ", "too few samples: "+text)...)
	}
	for _, foot := range columnFeet(b) {
		lines = append(lines, wrapped("", foot)...)
	}
	return unlessAlone(lines)
}

// columnFeet explains the heads of columns that are no plain words.
func columnFeet(b results.Bench) []string {
	if len(b.Knees) > 0 {
		return nil
	}
	contended, open := false, false
	for _, c := range b.Cells {
		contended = contended || !c.Setting.Crash && c.Setting.Rate == 0 && c.Setting.Clients > 1
		open = open || !c.Setting.Crash && c.Setting.Rate > 0
	}
	lines := []string{"reqs: requests per hold; cpu: processor time per hold, of clients and servers"}
	if contended {
		lines = append(lines, "trips: round trips from a release to the next grant; even: 1 if all clients get the same share (Jain's index); ahead: grants that overtook a client which had waited longer")
	}
	if open {
		lines = append(lines, "late: rounds that began more than 1 ms after their planned time; p50 and p99 count from that time, p99 sent from the call")
	}
	return lines
}

// Short cuts a text that has more than most characters at its end.
func Short(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// lockColumn is the most characters of a lock's name in a table.
const lockColumn = 22

// benchTables returns the tables of a bench, those of one setting together: what holds cost and how
// they are handed over, or the rates that were searched for.
func benchTables(b results.Bench) (all [][]Table) {
	if len(b.Knees) > 0 {
		t := Table{Heads: []string{"highest rate with " + b.Knees[0].Limit, "holds/s", "±", ""}}
		for _, k := range b.Knees {
			rate := Figure(k.Rate)
			if k.Rate.Value != nil && *k.Rate.Value == 0 {
				rate = "none"
			}
			t.Rows = append(t.Rows, []string{Short(k.Lock, lockColumn) + ", " + k.Setting.String(), rate, spread(k.Rate), KneeNote(k)})
		}
		return [][]Table{{t}}
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
