package report

import (
	"fmt"
	"io"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Replayed writes the result of running a tape again.
func Replayed(w io.Writer, r results.Replay, s Style) error {
	r = Clean(r)
	lines := []string{s.verdict(r.Verdict, Headline(r.Verdict)) + "  " + r.Lock + ": " + replaySummary(r), "",
		"tape         " + r.Tape, "where        " + r.Server + ", " + likeTheTape(r)}
	for _, p := range r.Placed {
		lines = append(lines, "placed       "+p)
	}
	for _, n := range r.Notes {
		lines = append(lines, labelled("note", 13, n, s)...)
	}
	for _, dir := range r.Runs {
		lines = append(lines, "run          "+dir)
	}
	if len(r.Story) > 0 {
		lines = append(append(lines, "", "the story"), folded(r.Story)...)
	}
	if len(r.Trace) > 0 {
		lines = append(append(lines, "", "the trace"), r.Trace...)
	}
	return write(w, lines)
}

func replaySummary(r results.Replay) string {
	what := fmt.Sprintf("%s/%s", r.Property, r.Cause)
	switch {
	case r.Instead != "":
		return fmt.Sprintf("%s not reproduced, but %s is broken", what, r.Instead)
	case r.Verdict == checker.Fail && r.Server != results.Simulator:
		return fmt.Sprintf("%s broken on real servers as well", r.Property)
	case r.Verdict == checker.Fail:
		return what + " reproduced"
	case r.Verdict == checker.Pass:
		return what + " not reproduced"
	}
	return what + " not reproduced: the replay diverged from the tape"
}

func likeTheTape(r results.Replay) string {
	switch {
	case r.Identical:
		return "identical to the tape"
	case r.Server == results.Simulator:
		return "differs from the tape"
	case r.Order != nil && r.Order.Left == "":
		return fmt.Sprintf("all %d steps in the order of the tape, %s", r.Order.Steps, Plural(len(r.Runs), "run"))
	case r.Order != nil:
		return fmt.Sprintf("%d of %d steps in the order of the tape, %s; %s", r.Order.Passed, r.Order.Steps, Plural(len(r.Runs), "run"), r.Order.Left)
	}
	return Plural(len(r.Runs), "run")
}
