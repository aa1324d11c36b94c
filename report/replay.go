package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
)

// Replay is what became of a tape that was run again.
type Replay struct {
	Schema    string           `json:"schema"`
	Tape      string           `json:"tape"`
	Lock      string           `json:"lock"`
	Server    string           `json:"server"`
	Verdict   checker.Result   `json:"verdict"`   // fail: what broke is broken still; inconclusive: the trace is another, and nothing is broken
	Identical bool             `json:"identical"` // the trace is the tape's, byte for byte; never on real servers
	Property  history.Property `json:"property,omitempty"`
	Cause     history.Cause    `json:"cause,omitempty"`
	Placed    []string         `json:"placed,omitempty"` // on real servers: the tape's faults and where they were placed
	Order     *faults.Order    `json:"order,omitempty"`  // on real servers: how far the last run was led through the tape
	Story     []string         `json:"story,omitempty"`
	Trace     []string         `json:"trace,omitempty"`
	Runs      []string         `json:"runs,omitempty"`
	Notes     []string         `json:"notes,omitempty"`
}

// Replayed writes what became of a tape that was run again.
func Replayed(w io.Writer, r Replay, s Style) error {
	lines := []string{s.verdict(r.Verdict, headline(r.Verdict)) + "  " + r.Lock + ": " + replaySummary(r), "",
		"tape         " + r.Tape, "where        " + r.Server + ", " + likeTheTape(r)}
	for _, p := range r.Placed {
		lines = append(lines, "placed       "+p)
	}
	for _, n := range r.Notes {
		lines = append(lines, s.paint(orange, "note")+"         "+n)
	}
	for _, dir := range r.Runs {
		lines = append(lines, "run          "+dir)
	}
	if len(r.Story) > 0 {
		lines = append(append(lines, "", "the story"), r.Story...)
	}
	if len(r.Trace) > 0 {
		lines = append(append(lines, "", "the trace"), r.Trace...)
	}
	return write(w, lines)
}

func replaySummary(r Replay) string {
	what := fmt.Sprintf("%s/%s", r.Property, r.Cause)
	switch {
	case r.Verdict == checker.Fail && r.Server != "sim" && len(r.Story) == 0:
		return "broken, but not by " + what
	case r.Verdict == checker.Fail && r.Server != "sim":
		return fmt.Sprintf("%s is broken there, too", r.Property)
	case r.Verdict == checker.Fail:
		return what + " is broken still"
	case r.Verdict == checker.Pass:
		return what + " is not broken"
	}
	return what + " is not broken, which says little: the replay was not what the tape was"
}

func likeTheTape(r Replay) string {
	switch {
	case r.Identical:
		return "event for event as on the tape"
	case r.Server == "sim":
		return "not as on the tape"
	case r.Order != nil && r.Order.Left == "":
		return fmt.Sprintf("all %d steps in the order of the tape, %s", r.Order.Steps, plural(len(r.Runs), "run"))
	case r.Order != nil:
		return fmt.Sprintf("%d of %d steps in the order of the tape, %s; %s", r.Order.Passed, r.Order.Steps, plural(len(r.Runs), "run"), r.Order.Left)
	}
	return plural(len(r.Runs), "run")
}

// Placements says in words which faults a tape has from the start, and between which steps of its score the others are.
func Placements(standing []faults.Spec, schedule faults.Schedule) []string {
	var out []string
	for _, f := range standing {
		out = append(out, f.Fault+" from the start")
	}
	ends := map[int]int{}
	for i, s := range schedule {
		ends[s.Of] = i + 1 // only those of faults are looked up
	}
	for i, s := range schedule {
		if s.Kind != faults.StepBegin {
			continue
		}
		text := fmt.Sprintf("%s as step %d", strings.Join(strings.Fields(s.Fault.Fault+" "+s.Client), " "), i+1)
		if s.Client == "" && s.Fault.Node > 0 {
			text = fmt.Sprintf("%s node %d as step %d", s.Fault.Fault, s.Fault.Node, i+1)
		}
		if end := ends[s.ID]; end > i+2 {
			text += fmt.Sprintf(", until step %d", end)
		}
		out = append(out, text)
	}
	return out
}
