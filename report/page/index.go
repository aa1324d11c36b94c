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

// thumbnail is a small picture: bars of a client, or of a fault, over time.
type thumbnail struct {
	Height int
	Bars   []bar
}

type bar struct {
	X, Y, Width, Height int
	Class               string
}

// Thumbnail draws the first violation of a run small, from its drawing in characters; nil: there is
// none.
func (e Entry) Thumbnail() *thumbnail {
	all := report.Firsts(e.Result)
	if len(all) == 0 || len(all[0].Lanes) < 2 {
		return nil
	}
	var t thumbnail
	lines := all[0].Lanes
	left := len(lines[0]) - len(strings.TrimLeft(lines[0], " ")) // the names end there
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, " ") || len(line) < left { // the mark of the violation, after which the legend comes
			break
		}
		for x, c := range line[left:] {
			class := map[rune]string{'[': "f-blue", '=': "f-blue", '#': "f-blue", ']': "f-blue", '!': "f-pink", '~': "f-orange", '.': "f-grey"}[c]
			height := 7
			if c == '.' {
				height = 1
			}
			if n := len(t.Bars); n > 0 && t.Bars[n-1] == (bar{t.Bars[n-1].X, t.Height, 2*x - t.Bars[n-1].X, height, class}) {
				t.Bars[n-1].Width += 2
			} else if class != "" {
				t.Bars = append(t.Bars, bar{2 * x, t.Height, 2, height, class})
			}
		}
		t.Height += 9
	}
	return &t
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
		Entries []Entry
		Choices map[string][]string
	}{entries, map[string][]string{"lock": words(func(e Entry) string { return e.Lock }),
		"scenario": words(func(e Entry) string { return e.Scenario }), "verdict": words(Entry.State)}}
	return write(w, "lockbench runs", "index", view, data{})
}
