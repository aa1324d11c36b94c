package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// MaxLines is the most lines that Run writes in ordinary cases.
const MaxLines = 25

// minStory is the number of a story's lines that are shown even if the text exceeds MaxLines: where
// the machine stalled or notes are many, the story of how it broke is still whole.
const minStory = 10

// Kept has the paths of a record: its directory and its page. A part is "" if there is none.
type Kept struct{ Dir, Page string }

// lines returns a line for each part, behind the word for the directory.
func (k Kept) lines(word string) (lines []string) {
	if k.Dir != "" {
		lines = append(lines, fmt.Sprintf("%-10s%s", word, k.Dir))
	}
	if k.Page != "" {
		lines = append(lines, "report    "+k.Page)
	}
	return lines
}

// Run writes the end of a run: the verdict, the story of the first violation, the strength of a
// pass, damage, latencies, the harness's health, where it is kept, and the command to run it again.
// If all that does not fit, what the page has as well makes room for the story.
func Run(w io.Writer, r results.Result, kept Kept, s Style) error {
	r, kept = Clean(r), Clean(kept)
	story, head, tail := storyLines(r), verdictLines(r, s, true), figureLines(r, kept, s, true)
	if len(head)+len(story)+len(tail) > MaxLines {
		head, tail = verdictLines(r, s, false), figureLines(r, kept, s, false)
	}
	return write(w, head, cutStory(story, MaxLines-len(head)-len(tail), kept.Dir), tail)
}

// Verdicts counts the verdicts of several runs.
func Verdicts(w io.Writer, all []results.Result, s Style) error {
	n := map[checker.Result]int{}
	for _, r := range all {
		n[r.Verdict]++
	}
	var words []string
	for _, v := range []checker.Result{checker.Fail, checker.Inconclusive, checker.Pass} {
		if n[v] > 0 {
			words = append(words, s.verdict(v, fmt.Sprintf("%d %s", n[v], v)))
		}
	}
	return write(w, []string{"", "together  " + strings.Join(words, ", ")})
}

// History writes the verdict on a stored history.
func History(w io.Writer, r results.Result, s Style) error {
	r = Clean(r)
	tail := slices.Concat(safetyLines(r, true), noteLines(r.Notes, len(r.Notes), s), again("again     ", r.Rerun))
	return write(w, verdictLines(r, s, true), cutStory(storyLines(r), MaxLines, ""), tail)
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

// verdictLines returns the headline, a line per violated or inconclusive property, and one line
// each for those that passed and, if absent, for those that do not apply.
func verdictLines(r results.Result, s Style, absent bool) []string {
	lines := []string{s.verdict(r.Verdict, Headline(r.Verdict)) + "  " + title(r)}
	if why, then := Inherent(r); why != "" {
		lines = append([]string{s.verdict(r.Verdict, Headline(r.Verdict)) + " " + why, "      " + title(r)}, wrapped("      ", then)...)
	}
	add := func(v checker.Result, head, text string) {
		lines = append(lines, s.first(v, word(v), wrapped(fmt.Sprintf("%-6s%s", word(v), head), text))...)
	}
	if r.Reason != "" {
		add(checker.Inconclusive, "", r.Reason)
	}
	lines = append(lines, gateLines(r.Gates, s)...)
	names := map[checker.Result][]string{}
	for _, p := range r.Properties {
		names[p.Verdict] = append(names[p.Verdict], string(p.Name))
		switch head := fmt.Sprintf("%-18s ", p.Name); p.Verdict {
		case checker.Fail: // the page has the interval of the rate
			text := Plural(p.Violations, "violation")
			if p.Opportunities > 0 {
				text = fmt.Sprintf("%s of %s (%s)", Count(p.Violations), Plural(p.Opportunities, opportunity(p.Name)), Percent(p.Rate))
			}
			add(p.Verdict, head, strings.TrimSuffix(text+notJudged(p)+": "+PropertyCauses(p), ": "))
		case checker.Inconclusive:
			add(p.Verdict, head, p.Note)
		}
	}
	for _, v := range []checker.Result{checker.Pass, checker.NotApplicable} {
		if len(names[v]) > 0 && (absent || v == checker.Pass) {
			add(v, "", strings.Join(names[v], " · "))
		}
	}
	return lines
}

// Inherent says of a run that broke only what every lease breaks when a client outlives it, and
// what to do; both are "" of another run.
func Inherent(r results.Result) (why, then string) {
	if !r.OutlivedOnly() {
		return "", ""
	}
	if c := results.NewCell(r, verdicts.Safe()); c.Fences && c.Properties[verdicts.StoreIntegrity] == checker.Pass {
		return "(as every lease: a client outlived its lease)",
			"No lease prevents this. The data is whole: its store refuses writes by their fences. Short work makes it rarer."
	}
	return "(as every lease without fences: a client outlived its lease)",
		"No lease prevents this. Let each write carry the fence of its hold, and the store refuse lower ones (as with fenced); short work makes it rarer."
}

// mostOfName is how many characters of a name are shown where it shares a line with other words.
const mostOfName = 32

// title describes what was run; a stored history has no server.
func title(r results.Result) string {
	text := Short(r.Lock, mostOfName) + " × " + Short(r.Scenario, mostOfName) + OtherWorkload(r.Workload)
	if r.Server == "" {
		return text
	}
	return fmt.Sprintf("%s  on %s, seed %d", text, ServerOf(r.Server, r.Product), r.Seed)
}

// ServerOf names servers by their make and version, where these are known, and by their kind.
func ServerOf(kind, product string) string {
	if product == "" {
		return kind
	}
	return product + " (" + kind + ")"
}

// OtherWorkload names, after the scenario's name, the workload of a run that has another than the
// scenario's; "" if it has its own.
func OtherWorkload(name string) string {
	if name == "" {
		return ""
	}
	return ", workload " + name
}

// scenarioOf names what was run of a result: its scenario, and the workload that replaced the
// scenario's.
func scenarioOf(r results.Result) string { return r.Scenario + OtherWorkload(r.Workload) }

// Causes formats causes, the most frequent first.
func Causes(all map[verdicts.Cause]int) string {
	var words []string
	for _, c := range slices.SortedFunc(maps.Keys(all), func(a, b verdicts.Cause) int { return cmp.Or(all[b]-all[a], cmp.Compare(a, b)) }) {
		words = append(words, fmt.Sprintf("%s %s", c, Count(all[c])))
	}
	return strings.Join(words, ", ")
}

// PropertyCauses formats the causes of a property's violations, of which a run traces the first of
// many.
func PropertyCauses(p checker.Property) string {
	if left := Untraced(p); left > 0 && len(p.Causes) > 0 {
		return Causes(p.Causes) + ", not traced " + Count(left)
	}
	return Causes(p.Causes)
}

// Untraced counts a property's violations whose causes were not looked for.
func Untraced(p checker.Property) int {
	left := p.Violations
	for _, n := range p.Causes {
		left -= n
	}
	return left
}

// Firsts lists the first violation of each property, in the order of time; what a search found, and
// those with a story, go before the others: one without is of a schedule that was not kept. The
// first one is told, and is file 001.
func Firsts(r *results.Result) (out []*checker.Violation) {
	if r == nil {
		return nil
	}
	for _, p := range r.Properties {
		if p.First != nil && p.Verdict == checker.Fail {
			out = append(out, p.First)
		}
	}
	rank := func(v *checker.Violation) int {
		switch {
		case r.Finding != "" && v.Property == r.Finding:
			return 0
		case len(v.Story) > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b *checker.Violation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.At, b.At))
	})
	return out
}

// storyLines tells the first violation; nothing broke if there are none.
func storyLines(r results.Result) []string {
	firsts := Firsts(&r)
	if len(firsts) == 0 {
		return nil
	}
	v := firsts[0]
	story := v.Story
	if len(story) == 0 {
		clients := make([]string, len(v.Clients))
		for i, c := range v.Clients {
			clients[i] = Short(c, mostOfName)
		}
		story = []string{fmt.Sprintf("%s by %s of %s on \"%s\"", v.Property, v.Cause, strings.Join(clients, " and "), Short(v.Key, mostOfName))}
	}
	lines := []string{fmt.Sprintf("first, at %s: %s", Instant(v.At), story[0])}
	for _, line := range story[1:] {
		lines = append(lines, "  "+line)
	}
	return folded(lines)
}

// cutStory cuts a story to max(room, minStory) lines, of which the last says where the others are.
func cutStory(lines []string, room int, dir string) []string {
	if room = max(room, minStory); len(lines) <= room {
		return lines
	}
	more := Plural(len(lines)-room+1, "more line")
	if dir != "" {
		more += " in " + dir + "/" + results.ViolationsPath
	}
	return append(lines[:room-1], "  … "+more)
}
