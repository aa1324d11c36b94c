package main

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
)

// TestReplaySaysWhatBrokeInstead: a run that follows a tape and breaks another property says which,
// by the tape's cause before others.
func TestReplaySaysWhatBrokeInstead(t *testing.T) {
	tape := sim.Tape{Property: "refusal", Cause: "orphan"}
	fence := checker.Violation{Property: "fencing-order", Cause: "fence-reset", Story: []string{"the fence"}}
	wait := checker.Violation{Property: "progress", Cause: "orphan", Story: []string{"the wait"}}
	for _, c := range []struct {
		all   []checker.Violation
		want  string
		story string
	}{
		{nil, "refusal/orphan not reproduced", ""}, // nothing broke
		// only something by another cause
		{[]checker.Violation{fence}, "refusal/orphan not reproduced, but fencing-order/fence-reset is broken", "the fence"},
		// the same cause comes first
		{[]checker.Violation{fence, wait}, "refusal/orphan not reproduced, but progress/orphan is broken", "the wait"},
	} {
		r := results.Replay{Property: tape.Property, Cause: tape.Cause, Server: "process", Verdict: checker.Pass}
		if r.Instead, r.Story = insteadOf(tape, c.all); r.Instead != "" {
			r.Verdict = checker.Fail
		}
		var out strings.Builder
		must(t, report.Replayed(&out, r, report.Style{}))
		if first, _, _ := strings.Cut(out.String(), "\n"); !strings.HasSuffix(first, c.want) || !strings.Contains(out.String(), c.story) {
			t.Errorf("got %q, want %q with %q", out.String(), c.want, c.story)
		}
	}
}
