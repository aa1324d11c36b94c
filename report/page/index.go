package page

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// Entry is a run, a suite, a bench or the finding of a search in a list.
type Entry struct {
	Kind     string          `json:"kind"`               // run, suite, bench, explore
	When     time.Time       `json:"when"`               // UTC
	What     string          `json:"what"`               // lock × scenario, and how many cells or locks
	Lock     string          `json:"lock,omitempty"`     // of a run or a search
	Scenario string          `json:"scenario,omitempty"` // of a run
	Server   string          `json:"server"`
	Verdict  checker.Result  `json:"verdict"` // "" if it was not judged
	Dir      string          `json:"dir"`
	Busy     bool            `json:"in_progress,omitempty"` // a process that lives writes it
	Problem  string          `json:"problem,omitempty"`     // why it cannot be read
	Story    bool            `json:"-"`                     // of a search: it has no page, but a story
	Result   *results.Result `json:"-"`                     // of a run that was judged
}

// Broke names the property of a run's first violation, and its cause; "" if nothing broke.
func (e Entry) Broke() string {
	all := report.Firsts(e.Result)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s by %s", all[0].Property, all[0].Cause)
}

// Name returns the name of its directory.
func (e Entry) Name() string { return filepath.Base(e.Dir) }

// State returns the verdict, or why there is none.
func (e Entry) State() string {
	switch {
	case e.Problem != "":
		return "unreadable"
	case e.Busy:
		return "in progress"
	case e.Verdict == "":
		return "not judged"
	}
	return string(e.Verdict)
}

// Link returns the path of its page relative to the list, or of its story.
func (e Entry) Link() string {
	file := results.ReportFile
	if e.Story {
		file = strings.TrimSuffix(results.TapePath, ".tape") + ".txt"
	}
	return (&url.URL{Path: e.Name() + "/" + file}).EscapedPath()
}

// Index writes a page that lists runs, suites and benches, and the words by which they can be
// chosen.
func Index(w io.Writer, entries []Entry) error {
	entries = report.Clean(entries)
	words := func(of func(Entry) string) (out []string) {
		for _, e := range entries {
			if of(e) != "" {
				out = append(out, of(e))
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	view := struct {
		Entries                    []Entry
		Locks, Scenarios, Verdicts []string
	}{entries, words(func(e Entry) string { return e.Lock }), words(func(e Entry) string { return e.Scenario }), words(Entry.State)}
	return write(w, "lockbench runs", "index", view, data{})
}
