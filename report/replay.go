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
	}
	return plural(len(r.Runs), "run")
}

// Placement says in words where a scenario places a fault.
func Placement(f faults.Spec) string {
	words := []string{f.Fault}
	if f.Client > 0 {
		words = append(words, fmt.Sprintf("c%d", f.Client))
	}
	if f.Node > 0 {
		words = append(words, fmt.Sprintf("node %d", f.Node))
	}
	words = append(words, when(f.When))
	if f.For != (faults.Span{}) {
		words = append(words, "for "+f.For.String())
	}
	if f.Until != "" {
		words = append(words, "until "+f.Until)
	}
	return strings.Join(words, " ")
}

func when(t faults.Trigger) string {
	nth := max(t.Nth, 1)
	switch {
	case t.Moment != "":
		return fmt.Sprintf("at moment %s, number %d", t.Moment, nth)
	case t.Request != "":
		return fmt.Sprintf("before request %d of %s leaves", nth, t.Request)
	case t.Reply != "":
		return fmt.Sprintf("when reply %d to %s is there", nth, t.Reply)
	case t.After != (faults.Span{}):
		return "after " + t.After.String()
	}
	return "from the start"
}
