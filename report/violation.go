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
