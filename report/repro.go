package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// Repro writes the result of reproducing a named bug: whether it was observed, and its story.
func Repro(w io.Writer, r results.Repro, s Style) error {
	r = Clean(r)
	head := s.verdict(checker.Fail, "NOT REPRODUCED")
	if r.Reproduced {
		head = s.verdict(checker.Pass, "REPRODUCED")
	}
	lines := append([]string{head + "  " + r.Name, ""}, wrapped("what         ", r.What)...)
	lines = append(lines, "source       "+r.Source, "lock         "+r.Lock)
	lines = append(lines, wrapped("where        ", where(r))...)
	lines = append(lines, wrapped("expected     ", strings.Join(r.Expected, " or "))...)
	lines = append(lines, wrapped("observed     ", cmp.Or(strings.Join(r.Observed, " "), "nothing"))...)
	if r.Spared != "" {
		lines = append(lines, "control      "+r.Spared+" survived the same")
	}
	if r.Why != "" {
		lines = append(lines, labelled("why", 13, r.Why, s)...)
	}
	if len(r.Story) > 0 {
		lines = append(append(lines, "", "the story"), folded(r.Story)...)
		lines = append(lines, "")
	}
	for _, dir := range r.Runs {
		lines = append(lines, "run          "+dir)
	}
	return write(w, append(lines, again("by hand      ", r.Command)...))
}

func where(r results.Repro) string {
	switch {
	case r.Tape != "":
		return "tape " + r.Tape + ", in the simulator"
	case r.Scenario == "":
		return fmt.Sprintf("a search through the simulator's schedules, %s", Plural(r.Attempts, "schedule"))
	}
	return fmt.Sprintf("scenario %s on %s, %s", r.Scenario, r.Server, Plural(r.Attempts, "run"))
}
