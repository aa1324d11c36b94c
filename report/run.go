package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// MaxLines is how many lines the end of a run takes at most.
const MaxLines = 40

// minStory is how many lines of a story are shown however full the screen is: a whole one, and what it is about.
const minStory = 13

// Run writes the end of a run: verdict first, then the story of the first violation, the strength of what passed, what was lost, latencies,
// the harness's own health, where the run lies (path, "" = nowhere) and how to run it again.
func Run(w io.Writer, r results.Result, path string, s Style) error {
	r = clean(r)
	first := firstViolation(r)
	need := 0
	if first != nil {
		need = min(minStory, len(first.Story)+1)
	}
	head, tail := verdictLines(r, s), figureLines(r, path, s, len(latencyOrder))
	for ops := len(latencyOrder) - 1; ops > 0 && len(head)+need+len(tail) > MaxLines; ops-- {
		tail = figureLines(r, path, s, ops) // result.json has the others
	}
	var story []string
	if first != nil {
		story = storyLines(first, MaxLines-len(head)-len(tail), path)
	}
	return write(w, head, story, tail)
}

// History writes the verdict on a stored history: what Run says, less what only a run knows.
func History(w io.Writer, r results.Result, s Style) error {
	r = clean(r)
	var story []string
	if first := firstViolation(r); first != nil {
		story = storyLines(first, MaxLines, "")
	}
	tail := slices.Concat(strengthLines(r), damageLines(r.Damage), noteLines(r.Notes, len(r.Notes), s))
	return write(w, verdictLines(r, s), story, append(tail, again("again     ", r.Rerun)...))
}

func write(w io.Writer, parts ...[]string) error {
	var b strings.Builder
	for _, lines := range parts {
		for _, line := range lines {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdictLines is the headline, a line for each property that failed, and one line for all others by verdict.
func verdictLines(r results.Result, s Style) []string {
	verdict := withGates(r.Verdict, r.Gates)
	lines := []string{s.verdict(verdict, headline(verdict)) + "  " + title(r)}
	if r.Reason != "" {
		lines = append(lines, s.verdict(checker.Inconclusive, word(checker.Inconclusive))+"  "+r.Reason)
	}
	lines = append(lines, gateLines(r.Gates, s)...)
	var passed, not []string
	for _, p := range r.Properties {
		switch p.Verdict {
		case checker.Fail:
			lines = append(lines, failed(p, s)...)
		case checker.Inconclusive:
			lines = append(lines, judged(p, p.Note, s)...)
		case checker.Pass:
			passed = append(passed, string(p.Name))
		case checker.NotApplicable:
			not = append(not, string(p.Name))
		}
	}
	return append(append(lines, listed(checker.Pass, passed, s)...), listed(checker.NotApplicable, not, s)...)
}

// withGates is a verdict with what the gates came to: a pass that missed one is none.
func withGates(verdict checker.Result, gates []results.GateResult) checker.Result {
	if verdict == checker.Pass {
		return results.GatesVerdict(gates)
	}
	return verdict
}

// listed names the properties that have a verdict, behind its word.
func listed(verdict checker.Result, names []string, s Style) []string {
	if len(names) == 0 {
		return nil
	}
	return painted(verdict, wrapped(fmt.Sprintf("%-6s", word(verdict)), strings.Join(names, " · ")), s)
}

// failed is a property that broke: how often, and by what; on lines of their own where one is too narrow.
func failed(p checker.Property, s Style) []string {
	lines := judged(p, failure(p), s)
	if len(lines) > 1 {
		lines = append(judged(p, frequency(p), s), wrapped(strings.Repeat(" ", 25), causes(p.Causes))...)
	}
	return lines
}

// judged is what is to be said of one property, behind the word of its verdict.
func judged(p checker.Property, text string, s Style) []string {
	return painted(p.Verdict, wrapped(fmt.Sprintf("%-6s%-18s ", word(p.Verdict), p.Name), text), s)
}

// painted returns the word of the verdict, with which the lines begin, its colour.
func painted(verdict checker.Result, lines []string, s Style) []string {
	lines[0] = s.verdict(verdict, word(verdict)) + strings.TrimPrefix(lines[0], word(verdict))
	return lines
}

// title says what was run; a history from elsewhere says nothing of where.
func title(r results.Result) string {
	text := r.Lock + " × " + r.Scenario
	if r.Server == "" {
		return text
	}
	return fmt.Sprintf("%s  on %s, seed %d", text, r.Server, r.Seed)
}

func failure(p checker.Property) string { return frequency(p) + notJudged(p) + "  " + causes(p.Causes) }

// frequency is how often a property broke, of how many times that it could have.
func frequency(p checker.Property) string {
	if p.Opportunities == 0 {
		return plural(p.Violations, "violation")
	}
	return fmt.Sprintf("%s of %s (%s; 95 %%: %s to %s)", count(p.Violations), plural(p.Opportunities, Opportunity(p.Name)), percent(p.Rate),
		percent(p.CI95[0]), percent(p.CI95[1]))
}

// Opportunity is the noun, in the singular, for what could have broken a property.
func Opportunity(name history.Property) string {
	switch name {
	case history.MutualExclusion:
		return "hand-over"
	case history.ExclusiveUse:
		return "use"
	case history.StoreIntegrity:
		return "write"
	case history.ReleaseSafety:
		return "release"
	case history.Linearizability:
		return "window"
	case history.FencingOrder:
		return "grant"
	case history.Progress:
		return "wait"
	case history.Refusal:
		return "refusal"
	case history.Reentrancy:
		return "re-entry"
	case history.Renewal:
		return "renewal"
	case history.Fairness:
		return "turn"
	}
	return "key"
}

// causes lists causes, the most frequent first.
func causes(all map[history.Cause]int) string {
	words := make([]string, 0, len(all))
	for _, c := range byCount(all) {
		words = append(words, fmt.Sprintf("%s %s", c, count(all[c])))
	}
	return strings.Join(words, ", ")
}

// firstViolation is the one to tell: the first of the gravest property that failed, in the order of the verdict.
func firstViolation(r results.Result) *checker.Violation {
	for _, p := range r.Properties {
		if p.First != nil {
			return p.First
		}
	}
	return nil
}

// storyLines tells a violation in at most room lines, but never in fewer than minStory.
func storyLines(v *checker.Violation, room int, path string) []string {
	lines := []string{fmt.Sprintf("first, at %s: %s by %s of %s on %q", instant(v.At), v.Property, v.Cause, strings.Join(v.Clients, " and "), v.Key)}
	story := v.Story
	if room = max(room, minStory) - 1; len(story) > room {
		rest := plural(len(story)-room+1, "more line")
		if path != "" {
			rest += " in " + path + "/" + results.ViolationsPath
		}
		story = append(append([]string{}, story[:room-1]...), "… "+rest)
	}
	for _, one := range story {
		lines = append(lines, "  "+one)
	}
	return lines
}
