package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/explored"
)

// Explore writes the result of a search: the verdict, its extent, and the story of the first
// violation.
func Explore(w io.Writer, x explored.Exploration, s Style) error {
	notes := x.Warnings // of several lines
	x = Clean(x)
	lines := append([]string{s.verdict(x.Verdict, Headline(x.Verdict)) + "  " + exploreSummary(x), ""}, wrapped("looked at    ", lookedAt(x))...)
	lines = append(lines, wrapped("within       ", within(x.Bounds))...)
	if x.Strategy == explored.Exhaustive {
		lines = append(lines, wrapped("exhausted    ", exhausted(x))...)
	}
	if len(x.NeverReached) > 0 {
		lines = append(lines, wrapped("not reached  ", strings.Join(x.NeverReached, ", "))...)
	}
	if text := x.Exceptions(); text != "" {
		lines = append(lines, wrapped("not counted  ", text)...)
	}
	for _, note := range notes {
		text := Lines(note)
		lines = append(lines, labelled("note", 13, text[0], s)...)
		for _, more := range text[1:] {
			lines = append(lines, strings.Repeat(" ", 13)+more)
		}
	}
	if x.First != nil {
		lines = append(lines, finding(x)...)
	}
	return write(w, append(lines, again("again        ", x.Rerun)...))
}

func exploreSummary(x explored.Exploration) string {
	switch {
	case x.First != nil:
		return fmt.Sprintf("%s: %s broken by %s in schedule %s", x.Lock, x.First.Property, x.First.Cause, count(x.First.Schedule))
	case x.Reason != "":
		return x.Lock + ": " + x.Reason
	}
	return fmt.Sprintf("%s: no violation in %s", x.Lock, Plural(x.Schedules, "schedule"))
}

func lookedAt(x explored.Exploration) string {
	text := fmt.Sprintf("%s (%s, seed %d) in %s", Plural(x.Schedules, "schedule"), x.Strategy, x.Seed, Span(seconds(x.Seconds)))
	if x.Seconds > 0 && x.Schedules > 0 {
		text += fmt.Sprintf(", %s/s", count(int(float64(x.Schedules)/x.Seconds)))
	}
	if x.States > 0 {
		text += ", " + Plural(x.States, "state")
	}
	if x.Shard != "" {
		text += ", shard " + x.Shard
	}
	if x.Live {
		return text + ", in real time"
	}
	return text + "; they would have taken " + seconds(x.Virtual).Round(time.Second).String()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func within(b explored.Bounds) string {
	text := fmt.Sprintf("%s × %s, ", Plural(b.Clients, "client"), Plural(b.Ops, "operation"))
	if b.MaxFaults == 0 {
		return text + "no fault"
	}
	return text + fmt.Sprintf("up to %s of %s", Plural(b.MaxFaults, "fault"), strings.Join(b.Faults, ", "))
}

// exhausted reports whether every schedule within the bounds was searched.
func exhausted(x explored.Exploration) string {
	switch {
	case x.Exhausted:
		whole := ""
		if x.Shard != "" {
			whole = "of shard " + x.Shard + ", "
		}
		text := fmt.Sprintf("yes, %sup to %s: every schedule was run or reaches a state that was searched; states are told apart by a 64-bit hash of data, clocks, messages, "+
			"faults and what clients saw", whole, within(x.Bounds))
		if x.Unhashed > 0 {
			text += fmt.Sprintf("; nothing was pruned at %s, in which a connection watched keys", Plural(x.Unhashed, "state"))
		}
		return text
	case x.First != nil:
		return "no: the search ended with the first finding"
	}
	return "no: the search ended before all schedules were run"
}

func finding(x explored.Exploration) []string {
	f := x.First
	lines := []string{"", fmt.Sprintf("the story, in %s of %s × %s", Plural(len(f.Steps), "step"), Plural(f.Clients, "client"),
		Plural(f.Ops, "operation"))}
	lines = append(lines, folded(f.Steps)...)
	if f.TapeFile == "" { // it could not be saved
		return append(lines, "")
	}
	lines = append(lines, "")
	if f.Page != "" {
		lines = append(lines, "report       "+f.Page)
	}
	if x.GoTest != "" {
		lines = append(lines, "Go test      "+strings.TrimSuffix(f.TapeFile, ".tape")+"_test.go.txt")
	}
	return append(lines, "tape         "+f.TapeFile, "replay       "+cmp.Or(x.Replay, "lockbench replay "+f.TapeFile))
}
