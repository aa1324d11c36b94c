package page

import (
	"io"
	"net/url"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// Entry is a run, a suite or a bench in a list.
type Entry struct {
	Kind, What, Server string
	When               time.Time
	Verdict            checker.Result // "" if it was not judged
	Name               string         // of its directory
}

// Link returns the path of its page relative to the list.
func (e Entry) Link() string {
	return (&url.URL{Path: e.Name + "/" + results.ReportFile}).EscapedPath()
}

// Index writes a page that lists runs, suites and benches.
func Index(w io.Writer, entries []Entry) error {
	return write(w, "lockbench runs", "index", report.Clean(entries), data{Charts: map[string]chart{}})
}
