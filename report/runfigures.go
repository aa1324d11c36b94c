package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// figureLines returns everything below the story; unless full, of the latencies only the acquires'
// medians, and nothing of the load, of what the waiting was spent on, and of how the harness kept
// time.
func figureLines(r results.Result, kept Kept, s Style, full bool) []string {
	latencies := LatencyTable(r)
	var lines []string
	switch {
	case r.NoLatency != "" && full:
		lines = []string{"latency   " + r.NoLatency}
	case r.NoLatency != "":
	case len(latencies.Rows) == 0:
		lines = []string{"latency   no samples"}
	case !full:
		var medians []string
		for _, row := range latencies.Rows {
			if strings.HasPrefix(row[0], "acquire") && row[2] != TooFew {
				medians = append(medians, row[0]+" p50 "+row[2])
			}
		}
		if len(medians) > 0 {
			lines = wrapped("latency   ", strings.Join(medians, ", "))
		}
	default:
		if lines = latencies.text(Style{}); r.Load.Open {
			lines = append(lines, wrapped("          ", openFoot)...)
		}
	}
	lines = append(safetyLines(r, full || r.Verdict != checker.Fail), lines...)
	if text := LoadText(r); text != "" && full {
		lines = append(lines, wrapped("load      ", text)...)
	}
	if w := r.Wait; w != nil && w.Total() > 0 && r.NoLatency == "" && full {
		share := func(part int64) string { return Percent(float64(part) / float64(w.Total())) }
		lines = append(lines, wrapped("waiting   ", fmt.Sprintf("%s behind holders, %s round trips, %s asleep, %s late starts",
			share(w.BehindHolder), share(w.RoundTrips), share(w.RetrySleep), share(w.GeneratorLag)))...)
	}
	var unknown []string
	for _, op := range slices.Sorted(maps.Keys(r.Operations)) {
		if n := r.Operations[op][history.Unknown.String()]; n > 0 {
			unknown = append(unknown, Plural(n, op))
		}
	}
	if len(unknown) > 0 {
		lines = append(lines, "unknown   "+strings.Join(unknown, ", ")+": no reply came, each may have taken effect")
	}
	return slices.Concat(lines, healthLines(r, s, full), noteLines(r.Notes, maxNotes, s), kept.lines("run"), again("again     ", r.Rerun))
}

// maxNotes is the most warnings that Run shows.
const maxNotes = 2

// noteLines returns at most most lines of warnings; the last says how many more there are.
func noteLines(notes []string, most int, s Style) []string {
	var lines []string
	for i, n := range notes {
		if i == most-1 && len(notes) > most {
			n = fmt.Sprintf("%s more in %s", Count(len(notes)-i), results.ResultFile)
		}
		if i < most {
			lines = append(lines, labelled("note", 10, n, s)...)
		}
	}
	return lines
}

// labelled wraps a text behind a magenta word, in a column of its own.
func labelled(word string, column int, text string, s Style) []string {
	return s.first(checker.Inconclusive, word, wrapped(fmt.Sprintf("%-*s", column, word), text))
}

// notJudged lists the opportunities that were not judged.
func notJudged(p checker.Property) string {
	if len(p.NotJudged) == 0 {
		return ""
	}
	return "; not judged: " + checker.NotJudgedText(p.NotJudged)
}

// safetyLines returns, if asked for, how strong a pass of mutual exclusion is (the opportunities,
// how many of them met a fault, and the upper bound of the violation rate with 95 % confidence),
// and the damage.
func safetyLines(r results.Result, strength bool) (lines []string) {
	for _, p := range r.Properties {
		if strength && p.Name == verdicts.MutualExclusion && p.Verdict == checker.Pass {
			text := fmt.Sprintf("%s of %s, upper bound %s", Count(p.Violations), Plural(p.Opportunities, opportunity(p.Name)), Percent(p.CI95[1]))
			if p.MetFault > 0 {
				text += fmt.Sprintf("; %s met a fault", Count(p.MetFault))
			}
			lines = wrapped("strength  ", text+notJudged(p))
		}
	}
	if text := DamageText(r); text != "" {
		lines = append(lines, wrapped("damage    ", text)...)
	}
	return lines
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
		shown = fmt.Sprintf("in the schedule that is kept, one of %s: ", Count(r.Schedules))
	}
	text := fmt.Sprintf("%s (a write that read what another had read), %s", Plural(d.LostUpdates, "lost update"), Plural(d.StaleWrites, "stale write"))
	switch {
	case d.Missing > 0:
		text = fmt.Sprintf("%s of %s are missing, the store holds %s; %s", Count(d.Missing), Plural(d.Expected, "update"), Count(d.Final), text)
	case d.Missing < 0:
		text = fmt.Sprintf("the store holds %s, %s more than the %s that it should; %s", Count(d.Final), Count(-d.Missing), Count(d.Expected), text)
	}
	return shown + text
}

// TooFew stands for a percentile that has too few samples.
const TooFew = "–"

// openFoot explains the last column of latencies.
const openFoot = "each counts from the planned start, p99 sent from the call"

// LatencyTable has a row for each operation, or two if fault windows split its samples. In a closed
// loop every call is sent when it is due.
func LatencyTable(r results.Result) Table {
	t := Table{Heads: []string{"latency", "count", "p50", "p90", "p99", "p99.9", "max", "p99 sent"}}
	for _, op := range []string{"acquire", "hand-over", "release", "extend"} { // others are only in result.json
		o := r.Latency[op]
		places, splits := []string{op}, []results.Split{o.Split}
		if o.Outside != nil && o.Inside != nil {
			places, splits = []string{op + " outside faults", op + " inside faults"}, []results.Split{*o.Outside, *o.Inside}
		}
		for i, s := range splits {
			if s.Response.Count == 0 {
				continue
			}
			row := []string{places[i], Count(s.Response.Count)}
			for i, v := range []int64{s.Response.P50, s.Response.P90, s.Response.P99, s.Response.P999, s.Response.Max, s.Service.P99} {
				cell := Span(v)
				if _, need, _ := results.Quantile(strings.TrimSuffix(t.Heads[i+2], " sent")); s.Response.Count < need {
					cell = TooFew
				}
				row = append(row, cell)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if !r.Load.Open {
		t.Heads = t.Heads[:7]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:7]
		}
	}
	return t
}

// LoadText describes the load on servers, and what of it was left out; "" if there is none to tell.
func LoadText(r results.Result) string {
	l := r.Load
	if l.Duration <= 0 || virtual(r) {
		return ""
	}
	text := fmt.Sprintf("%s, closed loop: %s for %s", Plural(l.Clients, "client"), Rate(l.Achieved), Span(l.Duration))
	if l.Open {
		text = fmt.Sprintf("%s, open loop: %s offered, %s achieved for %s", Plural(l.Clients, "client"), Rate(l.Offered), Rate(l.Achieved), Span(l.Duration))
	}
	if l.WarmUp > 0 {
		text += fmt.Sprintf("; not counted: %s of warm-up, %s", Span(l.WarmUp), Plural(int(l.Excluded), "round"))
	}
	return text
}

// virtual reports whether a run had virtual time, so that its rates and delays mean nothing.
func virtual(r results.Result) bool { return r.NoLatency == results.NoLatency }

// healthLines describes the harness's health: how it kept time, if that is asked for, and problems
// in colour.
func healthLines(r results.Result, s Style, timing bool) (lines []string) {
	h := r.Health
	if timing && !virtual(r) {
		late := "no round began late"
		if h.LateStarts > 0 {
			share := Count(h.LateStarts)
			if h.Starts > 0 {
				share = Percent(float64(h.LateStarts) / float64(h.Starts))
			}
			late = fmt.Sprintf("%s of rounds began late, by %s at most", share, Span(h.MaxLag))
		}
		lines = wrapped("harness   ", fmt.Sprintf("%s; longest GC pause %s", late, Span(h.GCMax)))
	}
	var bad []string
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
	if len(bad) == 0 {
		return lines
	}
	return append(lines, s.paintAll(magenta, wrapped("harness   ", strings.Join(bad, ", ")))...)
}

// Violation writes one violation in full: property, cause, story, drawing, and operations.
func Violation(w io.Writer, v checker.Violation) error {
	v = Clean(v)
	lines := []string{fmt.Sprintf("%s broken by %s", v.Property, v.Cause),
		fmt.Sprintf("at %s, clients %s, key \"%s\"", Instant(v.At), strings.Join(v.Clients, ", "), v.Key)}
	switch v.Property {
	case verdicts.MutualExclusion, verdicts.ExclusiveUse, verdicts.Progress, verdicts.Fairness: // the others are one wrong reply or value
		if v.Lasted > 0 && v.Lasted < math.MaxInt64-v.At {
			lines = append(lines, "lasted "+Span(v.Lasted))
		}
	}
	if v.WithinClockError {
		lines = append(lines, "shorter than the clock error")
	}
	lines = append(append(lines, ""), v.Story...)
	if len(v.Lanes) > 0 {
		lines = append(append(lines, ""), v.Lanes...)
	}
	for i, op := range v.Witness.All() {
		if i == 0 {
			lines = append(lines, "", "operations (call to return, nanoseconds on the run's base)")
		}
		var detail []string
		if op.Token != "" {
			detail = append(detail, "token "+op.Token)
		}
		if op.Fence > 0 {
			detail = append(detail, fmt.Sprintf("fence %d", op.Fence))
		}
		lines = append(lines, fmt.Sprintf("%16d %16d  %-4s %-8s %-9s %s", op.Call, op.Return, op.Client, op.Op, op.Outcome, strings.Join(detail, ", ")))
	}
	return write(w, lines)
}
