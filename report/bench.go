package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
)

// Bench writes a bench: verdict and gates, then the costs and hand-overs for each setting, the
// violations, and the command to run it again. It fits 80 columns.
func Bench(w io.Writer, b results.Bench, kept Kept, s Style) error {
	b, kept = Clean(b), Clean(kept)
	lines := benchHead(b, s)
	lines = append(lines, gateLines(b.Gates, s)...)
	for _, tables := range benchTables(b) {
		lines = append(lines, "")
		for _, t := range tables {
			lines = append(lines, t.text(s)...)
		}
	}
	lines = append(lines, breakLines(b.Cells, s)...)
	lines = append(lines, benchFeet(b)...)
	err := write(w, lines, noteLines(b.Notes, len(b.Notes), s), kept.lines("bench"), again("again     ", b.Rerun))
	if err != nil || b.Baseline == nil {
		return err
	}
	if _, err = io.WriteString(w, "\n"); err != nil {
		return err
	}
	return Comparison(w, *b.Baseline, s)
}

func benchHead(b results.Bench, s Style) []string {
	what := fmt.Sprintf("%s × %s × %s of %s  on %s, seed %d", LocksOf(b.Plan),
		Plural(len(b.Plan.Settings), "setting"), Plural(b.Plan.Repetitions, "repetition"), Span(b.Plan.Measure), b.Server, b.Seed)
	if b.Shard != nil {
		what += ", shard " + b.Shard.String()
	}
	facts := []string{}
	if b.RoundTrip.Value != nil {
		facts = append(facts, "round trip "+Span(int64(*b.RoundTrip.Value)))
	}
	if len(b.Nodes) > 0 && b.Nodes[0].Version != "" {
		facts = append(facts, b.Nodes[0].Product())
	}
	if b.Environment.CPUs > 0 {
		facts = append(facts, Plural(b.Environment.CPUs, "CPU"))
	}
	facts = append(facts, "lease "+Span(b.Plan.Lease), "took "+Span(b.Duration))
	head := Headline(b.Verdict) + "  "
	lines := []string{head + what}
	if utf8.RuneCountInString(lines[0]) > screen {
		lines = wrapped(head, what)
	}
	lines[0] = s.verdict(b.Verdict, Headline(b.Verdict)) + strings.TrimPrefix(lines[0], Headline(b.Verdict))
	lines = append(lines, strings.Join(facts, "   "))
	if answer := BenchAnswer(b); answer != "" {
		lines = append(lines, wrapped("", answer)...)
	}
	return lines
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
func gateLines(gates []results.GateResult, s Style) []string {
	var lines []string
	for _, g := range gates {
		head := fmt.Sprintf("  %-30s %12s", g.Gate, value(g.Value, g.Unit))
		rest := strings.TrimSuffix(gatePlace(g)+"  "+g.Why, "  ")
		verdict := s.verdict(g.Verdict, word(g.Verdict))
		if utf8.RuneCountInString(word(g.Verdict)+head+"  "+rest) <= screen {
			lines = append(lines, verdict+head+"  "+rest)
			continue
		}
		lines = append(append(lines, verdict+head), wrapped(strings.Repeat(" ", len(word(g.Verdict))+2), rest)...)
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

// Figure formats a figure's value in its unit; "–" if there is none.
func Figure(f results.Figure) string { return value(f.Value, f.Unit) }

// value formats a value in a metric's unit; "–" for nil.
func value(v *float64, unit results.Unit) string {
	switch {
	case v == nil:
		return "–"
	case unit == results.Nanoseconds:
		return Span(int64(math.Round(*v)))
	case unit == results.Share:
		return Percent(*v)
	case *v >= 1000:
		return count(int64(math.Round(*v)))
	}
	return digits(math.Round(*v*100) / 100)
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

// breakLines lists the violations and errors during the measurement.
func breakLines(cells []results.BenchCell, s Style) []string {
	var lines []string
	for _, c := range cells {
		for i, b := range c.Breaks {
			text := fmt.Sprintf("%s × %s: %s, %s: %s", c.Lock, c.Setting, b.Property, Plural(b.Violations, "violation"), Causes(b.Causes))
			for _, l := range wrapped("! ", strings.TrimSuffix(text, ": ")) {
				lines = append(lines, s.paint(red, l))
			}
			if i == 0 {
				lines = append(lines, storyStart(b.Story)...)
			}
		}
		if len(c.Errors) > 0 {
			e := c.Errors[0]
			for _, l := range wrapped("! ", fmt.Sprintf("%s × %s: %s ended in an error: %s", c.Lock, c.Setting, Plural(e.Count, e.Op), e.Error)) {
				lines = append(lines, s.paint(magenta, l))
			}
		}
	}
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// storyStart returns the first four lines of a story.
func storyStart(story []string) (lines []string) {
	for _, l := range story[:min(len(story), 4)] {
		lines = append(lines, "    "+Short(l, 76))
	}
	return lines
}

// benchFeet explains the marks that replace figures.
func benchFeet(b results.Bench) []string {
	var lines []string
	notShown, fewer := false, map[string]bool{}
	for _, c := range b.Cells {
		for name, f := range c.Figures {
			notShown = notShown || f.Ratio != nil && !f.Ratio.Differs && f.Ratio.Low != nil && name == "throughput"
			if f.Value == nil && shown(name) {
				m, _ := results.FindMetric(name)
				fewer[fmt.Sprintf("%s of %s × %s: %s; each of %s needs %s", name, c.Lock, c.Setting, Plural(f.Samples, "sample"),
					Plural(b.Plan.Repetitions, "repetition"), count(max(m.Need, 1)))] = true
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
	if len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// columnFeet explains the heads of columns that are no plain words.
func columnFeet(b results.Bench) (lines []string) {
	has := func(of func(results.BenchSetting) bool) bool {
		return slices.ContainsFunc(b.Cells, func(c results.BenchCell) bool { return !c.Setting.Crash && of(c.Setting) })
	}
	if len(b.Knees) > 0 {
		return nil
	}
	lines = append(lines, "reqs: requests per hold; cpu: processor time per hold, of clients and servers")
	if has(func(s results.BenchSetting) bool { return s.Clients > 1 && s.Rate == 0 }) {
		lines = append(lines, "trips: round trips from a release to the next grant; even: 1 if all clients get the same share (Jain's index); ahead: grants that overtook a client which had waited longer")
	}
	if has(func(s results.BenchSetting) bool { return s.Rate > 0 }) {
		lines = append(lines, "late: rounds that began more than 1 ms after their planned time; p50 and p99 count from that time, p99 sent from the call")
	}
	return lines
}

// shown reports whether a metric is in the tables.
func shown(metric string) bool {
	return slices.Contains([]string{"acquire.p50", "acquire.p99", "hand-over.p50", "hand-over.p99", "hand-over.trips.p50"}, metric)
}

// Short cuts a text that has more than most characters at its end.
func Short(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
