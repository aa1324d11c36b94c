package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// figureLines returns everything below the story, with the latencies of the first ops operations of
// latencyOrder.
func figureLines(r results.Result, kept Kept, s Style, ops int) []string {
	lines := slices.Concat(strengthLines(r), damageLines(r), latencyLines(r, ops), loadLines(r), healthLines(r, s),
		noteLines(r.Notes, maxNotes, s))
	return slices.Concat(lines, kept.lines("run"), again("again     ", r.Rerun))
}

// maxNotes is the most warnings that Run shows.
const maxNotes = 2

// noteLines returns at most most lines of warnings; the last says how many more there are.
func noteLines(notes []string, most int, s Style) []string {
	var lines []string
	for i, n := range notes {
		if i == most-1 && len(notes) > most {
			n = fmt.Sprintf("%s more in %s", count(len(notes)-i), results.ResultFile)
		}
		if i < most {
			lines = append(lines, noted(10, n, s)...)
		}
	}
	return lines
}

// noted wraps a note behind the word, in a column of its own.
func noted(column int, text string, s Style) []string {
	return labelled("note", column, text, s)
}

// labelled wraps a text behind a magenta word, in a column of its own.
func labelled(word string, column int, text string, s Style) []string {
	lines := wrapped(fmt.Sprintf("%-*s", column, word), text)
	lines[0] = s.paint(magenta, word) + strings.TrimPrefix(lines[0], word)
	return lines
}

// strengthLines returns the strength of a pass of mutual exclusion.
func strengthLines(r results.Result) []string {
	for _, p := range r.Properties {
		if p.Name == verdicts.MutualExclusion && p.Verdict == checker.Pass {
			return wrapped("strength  ", Strength(p))
		}
	}
	return nil
}

// Strength describes how strong a pass is: the number of opportunities, how many of them met a
// fault, and the upper bound of the violation rate with 95 % confidence.
func Strength(p checker.Property) string {
	text := fmt.Sprintf("%s of %s, upper bound %s", count(p.Violations), Plural(p.Opportunities, opportunity(p.Name)), Percent(p.CI95[1]))
	if p.MetFault > 0 {
		text += fmt.Sprintf("; %s met a fault", count(p.MetFault))
	}
	return text + notJudged(p)
}

// notJudged lists the opportunities that were not judged.
func notJudged(p checker.Property) string {
	if len(p.NotJudged) == 0 {
		return ""
	}
	return "; not judged: " + checker.NotJudgedText(p.NotJudged)
}

func damageLines(r results.Result) []string {
	if text := DamageText(r); text != "" {
		return wrapped("damage    ", text)
	}
	return nil
}

// DamageText describes the damage to the guarded store; "" if there is none. Of several simulated
// schedules it is that of the one that is kept.
func DamageText(r results.Result) string {
	d := r.Damage
	if d == nil || d.LostUpdates == 0 && d.StaleWrites == 0 && d.Missing == 0 {
		return ""
	}
	shown := ""
	if r.Schedules > 1 {
		shown = fmt.Sprintf("in the schedule that is kept, one of %s: ", count(r.Schedules))
	}
	text := shown + fmt.Sprintf("%s, %s", Plural(d.LostUpdates, "lost update"), Plural(d.StaleWrites, "stale write"))
	switch {
	case d.Missing > 0:
		text += fmt.Sprintf(": %s of %s are missing, the store holds %s", count(d.Missing), count(d.Expected), count(d.Final))
	case d.Missing < 0:
		text += fmt.Sprintf(": the store holds %s, %s more than the %s that it should", count(d.Final), count(-d.Missing), count(d.Expected))
	}
	return text
}

// latencyOrder is the order of the table's rows. Other operations are only in result.json.
var latencyOrder = [...]string{"acquire", "hand-over", "release", "extend"}

func latencyLines(r results.Result, ops int) []string {
	if r.NoLatency != "" {
		return []string{"latency   " + r.NoLatency}
	}
	t := latencyTable(r, ops)
	switch {
	case len(t.rows) == 0:
		return []string{"latency   no samples"}
	case r.Load.Open:
		return append(t.text(Style{}), wrapped("          ", openFoot)...)
	}
	return t.text(Style{})
}

// openFoot explains the last column of latencies.
const openFoot = "each counts from the planned start, p99 sent from the call"

// latencyTable has a row for each operation, or two if fault windows split its samples. In a closed
// loop every call is sent when it is due.
func latencyTable(r results.Result, ops int) table {
	columns := 7
	if r.Load.Open {
		columns++
	}
	t := table{heads: []string{"latency", "count", "p50", "p90", "p99", "p99.9", "max", "p99 sent"}[:columns]}
	for _, op := range latencyOrder[:ops] {
		for _, p := range Places(r.Latency[op]) {
			row := append([]string{strings.TrimSpace(op + " " + p.Name), count(p.Response.Count)}, Percentiles(p.Split)...)
			t.rows = append(t.rows, row[:columns])
		}
	}
	return t
}

// Place has the samples of one operation outside or inside the fault windows.
type Place struct {
	Name string
	results.Split
}

// Places returns the places that have samples; without fault windows, one without a name.
func Places(o results.Operation) []Place {
	all := []Place{{"", results.Split{Response: o.Response, Service: o.Service}}}
	if o.Outside != nil && o.Inside != nil {
		all = []Place{{"outside faults", *o.Outside}, {"inside faults", *o.Inside}}
	}
	return slices.DeleteFunc(all, func(p Place) bool { return p.Response.Count == 0 })
}

// Percentiles formats p50, p90, p99, p99.9, the maximum, and p99 from the call; "–" if there are
// too few samples.
func Percentiles(s results.Split) (cells []string) {
	cell := func(name string, v int64) {
		if _, need, _ := results.Quantile(name); s.Response.Count < need {
			cells = append(cells, "–")
			return
		}
		cells = append(cells, Span(v))
	}
	cell("p50", s.Response.P50)
	cell("p90", s.Response.P90)
	cell("p99", s.Response.P99)
	cell("p99.9", s.Response.P999)
	cell("", s.Response.Max)
	cell("p99", s.Service.P99)
	return cells
}

// loadLines describes the load, what the waiting was spent on, and the unknown outcomes.
func loadLines(r results.Result) []string {
	var lines []string
	if l := r.Load; l.Duration > 0 && !virtual(r) {
		text := fmt.Sprintf("load      %s, closed loop: %s for %s", Plural(l.Clients, "client"), Rate(l.Achieved), Span(l.Duration))
		if l.Open {
			text = fmt.Sprintf("load      %s, open loop: %s offered, %s achieved for %s", Plural(l.Clients, "client"), Rate(l.Offered), Rate(l.Achieved), Span(l.Duration))
		}
		lines = append(lines, wrapped(text[:10], text[10:]+WarmUpText(l))...)
	}
	if w := r.Wait; w != nil && w.Total() > 0 && r.NoLatency == "" {
		share := func(part int64) string { return Percent(float64(part) / float64(w.Total())) }
		lines = append(lines, wrapped("waiting   ", fmt.Sprintf("%s behind holders, %s round trips, %s asleep, %s late starts",
			share(w.BehindHolder), share(w.RoundTrips), share(w.RetrySleep), share(w.GeneratorLag)))...)
	}
	if unknown := unknowns(r.Operations); unknown != "" {
		lines = append(lines, "unknown   "+unknown+": no reply came, each may have taken effect")
	}
	return lines
}

// WarmUpText says what of a load was left out: "; not counted: 1s of warm-up, 212 rounds"; "" if
// nothing was.
func WarmUpText(l results.Throughput) string {
	if l.WarmUp == 0 {
		return ""
	}
	return fmt.Sprintf("; not counted: %s of warm-up, %s", Span(l.WarmUp), Plural(int(l.Excluded), "round"))
}

func unknowns(ops checker.Operations) string {
	var words []string
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		if n := ops[op][history.Unknown.String()]; n > 0 {
			words = append(words, Plural(n, op))
		}
	}
	return strings.Join(words, ", ")
}

// virtual reports whether a run had virtual time, so that its rates and delays mean nothing.
func virtual(r results.Result) bool { return r.NoLatency == results.NoLatency }

// healthLines describes the harness's health, with problems in colour.
func healthLines(r results.Result, s Style) []string {
	h := r.Health
	var lines, bad []string
	if !virtual(r) {
		late := "no round began late"
		if h.LateStarts > 0 {
			late = fmt.Sprintf("%s of rounds began late, by %s at most", lateShare(h), Span(h.MaxLag))
		}
		lines = append(lines, wrapped("harness   ", fmt.Sprintf("%s; longest GC pause %s", late, Span(h.GCMax)))...)
	}
	if h.Dropped > 0 {
		bad = append(bad, Plural(h.Dropped, "sample")+" out of the histograms' range")
	}
	if h.NotSearched > 0 {
		bad = append(bad, Plural(h.NotSearched, "window")+" not searched")
	}
	if h.Unconfirmed > 0 {
		bad = append(bad, Plural(h.Unconfirmed, "fault")+" not confirmed")
	}
	if h.Stalled {
		bad = append(bad, "unplanned stall of the host for "+Span(h.MaxStall))
	}
	if len(bad) > 0 {
		for _, line := range wrapped("harness   ", strings.Join(bad, ", ")) {
			lines = append(lines, s.paint(magenta, line))
		}
	}
	return lines
}

func lateShare(h results.Health) string {
	if h.Starts == 0 {
		return count(h.LateStarts)
	}
	return Percent(float64(h.LateStarts) / float64(h.Starts))
}
