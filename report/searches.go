package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/explored"
)

// Explore writes the result of a search: the verdict, its extent, and the story of the first
// violation.
func Explore(w io.Writer, x explored.Exploration, s Style) error {
	notes := x.Warnings // of several lines
	x = Clean(x)
	summary := fmt.Sprintf("no violation in %s", Plural(x.Schedules, "schedule"))
	switch {
	case x.First != nil:
		summary = fmt.Sprintf("%s broken by %s in schedule %s", x.First.Property, x.First.Cause, Count(x.First.Schedule))
	case x.Reason != "":
		summary = x.Reason
	}
	head := Headline(x.Verdict)
	lines := append(wrapped(head+"  ", x.Lock+": "+summary), "")
	lines[0] = s.verdict(x.Verdict, head) + strings.TrimPrefix(lines[0], head)
	add := func(head, text string) {
		if text != "" {
			lines = append(lines, wrapped(fmt.Sprintf("%-13s", head), text)...)
		}
	}
	add("looked at", lookedAt(x))
	add("within", within(x.Bounds))
	add("exhausted", exhausted(x))
	add("not reached", strings.Join(x.NeverReached, ", "))
	add("not counted", x.Exceptions())
	for _, note := range notes {
		text := Lines(note)
		lines = append(lines, labelled("note", 13, text[0], s)...)
		for _, more := range text[1:] {
			lines = append(lines, strings.Repeat(" ", 13)+more)
		}
	}
	if f := x.First; f != nil {
		lines = append(lines, "", fmt.Sprintf("the story, in %s of %s × %s", Plural(len(f.Steps), "step"), Plural(f.Clients, "client"), Plural(f.Ops, "operation")))
		lines = append(append(lines, folded(f.Steps)...), "")
		if f.Page != "" {
			lines = append(lines, "report       "+f.Page)
		}
		if f.TapeFile != "" && x.GoTest != "" {
			lines = append(lines, "Go test      "+strings.TrimSuffix(f.TapeFile, ".tape")+"_test.go.txt")
		}
		if f.TapeFile != "" { // it could be saved
			lines = append(lines, "tape         "+f.TapeFile, "replay       "+cmp.Or(x.Replay, "lockbench replay "+f.TapeFile))
		}
	}
	return write(w, append(lines, again("again        ", x.Rerun)...))
}

func lookedAt(x explored.Exploration) string {
	text := fmt.Sprintf("%s (%s, seed %d) in %s", Plural(x.Schedules, "schedule"), x.Strategy, x.Seed, Span(seconds(x.Seconds)))
	if x.Seconds > 0 && x.Schedules > 0 {
		text += fmt.Sprintf(", %s/s", Count(int(float64(x.Schedules)/x.Seconds)))
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

// exhausted reports whether every schedule within the bounds was searched; "" of a search that does
// not try to.
func exhausted(x explored.Exploration) string {
	switch {
	case x.Strategy != explored.Exhaustive:
		return ""
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

// Replayed writes the result of running a tape again.
func Replayed(w io.Writer, r results.Replay, s Style) error {
	r = Clean(r)
	what := fmt.Sprintf("%s/%s", r.Property, r.Cause)
	switch {
	case r.Instead != "":
		what += fmt.Sprintf(" not reproduced, but %s is broken", r.Instead)
	case r.Verdict == checker.Fail && r.Server != results.Simulator:
		what = fmt.Sprintf("%s broken on real servers as well", r.Property)
	case r.Verdict == checker.Fail:
		what += " reproduced"
	case r.Verdict == checker.Pass:
		what += " not reproduced"
	default:
		what += " not reproduced: the replay diverged from the tape"
	}
	like := Plural(len(r.Runs), "run")
	switch o := r.Order; {
	case r.Identical:
		like = "identical to the tape"
	case r.Server == results.Simulator:
		like = "differs from the tape"
	case o != nil && o.Left == "":
		like = fmt.Sprintf("all %d steps in the order of the tape, %s", o.Steps, like)
	case o != nil:
		like = fmt.Sprintf("%d of %d steps in the order of the tape, %s; %s", o.Passed, o.Steps, like, o.Left)
	}
	lines := []string{s.verdict(r.Verdict, Headline(r.Verdict)) + "  " + r.Lock + ": " + what, "",
		"tape         " + r.Tape, "where        " + r.Server + ", " + like}
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

// Repro writes the result of reproducing a named bug: whether it was observed, and its story.
func Repro(w io.Writer, r results.Repro, s Style) error {
	r = Clean(r)
	head := s.verdict(checker.Fail, "NOT REPRODUCED")
	if r.Reproduced {
		head = s.verdict(checker.Pass, "REPRODUCED")
	}
	where := fmt.Sprintf("scenario %s on %s, %s", r.Scenario, r.Server, Plural(r.Attempts, "run"))
	switch {
	case r.Tape != "":
		where = "tape " + r.Tape + ", in the simulator"
	case r.Scenario == "":
		where = fmt.Sprintf("a search through the simulator's schedules, %s", Plural(r.Attempts, "schedule"))
	}
	lines := append([]string{head + "  " + r.Name, ""}, wrapped("what         ", r.What)...)
	lines = append(lines, "source       "+r.Source, "lock         "+r.Lock)
	lines = append(lines, wrapped("where        ", where)...)
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
