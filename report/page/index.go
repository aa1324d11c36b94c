package page

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// Entry is a run, a suite, a bench or the finding of a search in a list.
type Entry struct {
	Kind    string         `json:"kind"` // run, suite, bench, explore
	When    time.Time      `json:"when"` // UTC
	What    string         `json:"what"` // lock × scenario, and how many cells or locks
	Server  string         `json:"server"`
	Verdict checker.Result `json:"verdict"` // "" if it was not judged
	Dir     string         `json:"dir"`
	Busy    bool           `json:"in_progress,omitempty"` // a process that lives writes it
	Problem string         `json:"problem,omitempty"`     // why it cannot be read
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

// Link returns the path of its page relative to the list. A finding of a search has its story alone.
func (e Entry) Link() string {
	file := results.ReportFile
	if e.Kind == "explore" {
		file = strings.TrimSuffix(results.TapePath, ".tape") + ".txt"
	}
	return (&url.URL{Path: e.Name() + "/" + file}).EscapedPath()
}

// Index writes a page that lists runs, suites and benches.
func Index(w io.Writer, entries []Entry) error {
	return write(w, "lockbench runs", "index", report.Clean(entries), data{Charts: map[string]chart{}})
}
