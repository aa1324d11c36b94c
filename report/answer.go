package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// mostAnswered is the most locks that the answer of a bench compares with the best.
const mostAnswered = 3

// BenchAnswer says in a sentence which lock was best in the setting that most people ask about, and
// by how much, lock against lock; "" if fewer than two locks were measured. A difference that the
// repetitions do not show is not named.
func BenchAnswer(b results.Bench) string {
	cells := answered(b)
	measured := func(name string) bool {
		return !slices.ContainsFunc(cells, func(c results.BenchCell) bool { return c.Figures[name].Value == nil })
	}
	metric, verb, phrase, more := "hand-over.p50", "hands over", "%s× faster than %s", false
	if !measured(metric) { // clients do not compete
		metric, verb, phrase, more = "throughput", "makes", "%s× the holds per second of %s", true
	}
	if len(cells) < 2 || !measured(metric) {
		return ""
	}
	best := slices.MinFunc(cells, func(x, y results.BenchCell) int {
		order := cmp.Compare(*x.Figures[metric].Value, *y.Figures[metric].Value)
		if more {
			return -order
		}
		return order
	})
	var faster, alike []string
	others := slices.DeleteFunc(cells, func(c results.BenchCell) bool { return c.Lock == best.Lock })
	for _, o := range others[:min(len(others), mostAnswered)] {
		factor, shown := times(o.Figures[metric], best.Figures[metric], more)
		if !shown {
			alike = append(alike, o.Lock)
			continue
		}
		text := fmt.Sprintf(phrase, digits(factor), o.Lock)
		// requests do not vary from one repetition to the next
		if mine, its := best.Figures["requests"].Value, o.Figures["requests"].Value; mine != nil && its != nil && *its != 0 {
			text += fmt.Sprintf(" at %s× the requests", digits(*mine / *its))
		}
		faster = append(faster, text)
	}
	sentence := "With " + cells[0].Setting.String() + ", "
	if len(faster) == 0 {
		return sentence + "the repetitions show no difference between " + joined(append([]string{best.Lock}, alike...)) + "."
	}
	sentence += best.Lock + " " + verb + " " + joined(faster)
	if len(alike) > 0 {
		sentence += "; no difference from " + joined(alike) + " is shown"
	}
	sentence += "."
	// it may be quick because it grants to the client that asks first: a waiter of another lock waits
	// at most half as long
	most, of := 2.0, ""
	for _, o := range others {
		if factor, shown := times(best.Figures["longest-wait"], o.Figures["longest-wait"], false); shown && factor >= most {
			most, of = factor, o.Lock
		}
	}
	if of != "" {
		sentence += fmt.Sprintf(" But its longest wait is %s× that of %s.", digits(most), of)
	}
	return sentence
}

// usualClients is the setting that the answer is about, if it was measured.
const usualClients = 8

// answered returns the cells of the setting that the answer is about, without the bare loop and the
// locks that broke, whose figures mean nothing.
func answered(b results.Bench) (best []results.BenchCell) {
	distance := math.Inf(1)
	for _, cells := range BySetting(b.Cells) {
		s := cells[0].Setting
		if d := math.Abs(math.Log2(float64(max(s.Clients, 1)) / usualClients)); !s.Crash && d < distance {
			best, distance = cells, d
		}
	}
	return slices.DeleteFunc(slices.Clone(best), func(c results.BenchCell) bool { return c.Lock == bareLoop || len(c.Breaks) > 0 })
}

// times returns by which factor a slow figure exceeds a fast one, and whether the repetitions show
// that they differ.
func times(slow, fast results.Figure, more bool) (factor float64, shown bool) {
	if more {
		slow, fast = fast, slow
	}
	var ratios []float64
	for i := range min(len(slow.Values), len(fast.Values)) {
		if a, b := slow.Values[i], fast.Values[i]; a != nil && b != nil && *b > 0 {
			ratios = append(ratios, *a / *b)
		}
	}
	if len(ratios) == 0 {
		return 0, false
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), .95)
	return s.Center, !math.IsInf(s.Lo, 0) && !math.IsInf(s.Hi, 0) && s.Lo > 1
}

// joined lists words as a sentence does.
func joined(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// SafetyText says what a bench knows of a cell's safety. Where nothing went wrong on purpose, that
// no property broke says little.
func SafetyText(c results.BenchCell, b results.Bench) string {
	switch {
	case c.Verdict == checker.NotApplicable:
		return "not run"
	case len(c.Breaks) > 0:
		return "violated"
	case c.Verdict != checker.Pass:
		return string(c.Verdict)
	case b.Plan.Scenario == "" && !c.Setting.Crash:
		return "no violation; no faults were injected"
	}
	return "no violation"
}
