package page

import (
	"io"
	"net/url"
	"path/filepath"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// Entry is a run, a suite or a bench in a list.
type Entry struct {
	Kind    string         `json:"kind"` // run, suite, bench
	When    time.Time      `json:"when"` // UTC
	What    string         `json:"what"` // lock × scenario, and how many cells or locks
	Server  string         `json:"server"`
	Verdict checker.Result `json:"verdict"` // "" if it was not judged
	Dir     string         `json:"dir"`
}

// Name returns the name of its directory.
func (e Entry) Name() string { return filepath.Base(e.Dir) }

// Link returns the path of its page relative to the list.
func (e Entry) Link() string {
	return (&url.URL{Path: e.Name() + "/" + results.ReportFile}).EscapedPath()
}

// Index writes a page that lists runs, suites and benches.
func Index(w io.Writer, entries []Entry) error {
	return write(w, "lockbench runs", "index", report.Clean(entries), data{Charts: map[string]chart{}})
}
