package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/verdicts"
)

// Violation writes one violation in full: property, cause, story, drawing, and operations.
func Violation(w io.Writer, v checker.Violation) error {
	v = Clean(v)
	lines := []string{fmt.Sprintf("%s broken by %s", v.Property, v.Cause),
		fmt.Sprintf("at %s, clients %s, key \"%s\"", Instant(v.At), strings.Join(v.Clients, ", "), v.Key)}
	if spans(v.Property) && v.Lasted > 0 && v.Lasted < math.MaxInt64-v.At {
		lines = append(lines, "lasted "+Span(v.Lasted))
	}
	if v.WithinClockError {
		lines = append(lines, "shorter than the clock error")
	}
	lines = append(append(lines, ""), v.Story...)
	if len(v.Lanes) > 0 {
		lines = append(append(lines, ""), v.Lanes...)
	}
	shown := v.Witness.All()
	if len(shown) > 0 {
		lines = append(lines, "", "operations (call to return, nanoseconds on the run's base)")
	}
	for _, op := range shown {
		lines = append(lines, fmt.Sprintf("%16d %16d  %-4s %-8s %-9s %s", op.Call, op.Return, op.Client, op.Op, op.Outcome, detail(op.Token, op.Fence)))
	}
	return write(w, lines)
}

// spans reports whether a violation of a property is something that lasts, and not one wrong reply
// or value.
func spans(p verdicts.Property) bool {
	return p == verdicts.MutualExclusion || p == verdicts.ExclusiveUse || p == verdicts.Progress || p == verdicts.Fairness
}

func detail(token string, fence uint64) string {
	var words []string
	if token != "" {
		words = append(words, "token "+token)
	}
	if fence > 0 {
		words = append(words, fmt.Sprintf("fence %d", fence))
	}
	return strings.Join(words, ", ")
}
