package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// recordFile has the rows of the table.
const recordFile = "record.json"

// row has the results of a library.
type row struct {
	Library  string             `json:"library"`
	Version  string             `json:"version"`
	Redis    string             `json:"redis"`              // version of the server
	CPU      string             `json:"cpu"`                // and how many
	Observed map[string]string  `json:"observed"`           // by applicable scenario, in the form of results.Cell
	Unjudged map[string]string  `json:"unjudged,omitempty"` // by scenario: why a run has no verdict
	Figures  map[string]float64 `json:"figures"`            // by "clients metric"; one with too few samples is missing
}

// figure is a column of the table. Times are not shown, because they depend on the load of the
// machine.
type figure struct{ head, name, format string }

var shown = []figure{
	{"requests a hold", "1 requests", "%.1f"},
	{"hand-over p50, round trips", "8 hand-over.trips.p50", "%.1f"},
}

// beyond has the causes that no lock with a lease prevents: work past the lease, and data loss or a
// clock jump on the server.
var beyond = []verdicts.Cause{verdicts.LeaseOverrun, verdicts.RestartLoss, verdicts.FailoverLoss, verdicts.ClockJump, verdicts.KeyDeleted, verdicts.Eviction}

func newRow(l library, suite results.Suite, bench results.Bench) row {
	r := row{Library: l.name, Version: l.version, Observed: map[string]string{}, Unjudged: map[string]string{}, Figures: map[string]float64{},
		CPU: fmt.Sprintf("%d × %s", bench.Environment.CPUs, bench.Environment.CPU)}
	if len(bench.Nodes) > 0 {
		r.Redis = bench.Nodes[0].Version
	}
	for _, c := range suite.Cells {
		switch {
		case c.Verdict == checker.NotApplicable:
		case c.Observed == results.NothingObserved || c.Verdict == checker.Inconclusive:
			why, _, _ := strings.Cut(c.Why, "\n") // a stack may follow
			r.Unjudged[c.Scenario] = why
		default:
			r.Observed[c.Scenario] = c.Observed
		}
	}
	for _, c := range bench.Cells {
		for name, f := range c.Figures {
			key := fmt.Sprint(c.Setting.Clients, " ", name)
			used := slices.ContainsFunc(shown, func(s figure) bool { return s.name == key })
			if used && !c.Reference && f.Value != nil {
				r.Figures[key] = *f.Value
			}
		}
	}
	return r
}

// own returns the breaks that another lock with a lease could have prevented, each with its
// scenarios; the number of scenarios without a break; and in leases the number of those with only
// breaks that no lease prevents.
func (r row) own() (breaks []string, safe, leases int) {
	where := map[string][]string{}
	for _, scenario := range slices.Sorted(maps.Keys(r.Observed)) {
		seen := r.Observed[scenario]
		pairs := slices.DeleteFunc(strings.Fields(seen), func(pair string) bool {
			_, cause, _ := strings.Cut(pair, "/")
			return cause == "" || slices.Contains(beyond, verdicts.Cause(cause))
		})
		switch {
		case seen == "safe":
			safe++
		case len(pairs) == 0:
			leases++
		}
		for _, pair := range pairs {
			where[pair] = append(where[pair], scenario)
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(where)) {
		breaks = append(breaks, fmt.Sprintf("%s (%s)", pair, strings.Join(where[pair], ", ")))
	}
	return breaks, safe, leases
}

// table writes the rows in the order of the libraries.
func table(w io.Writer, rows []row) {
	fmt.Fprint(w, "| library | holds in | as every lease | breaks in | not judged |")
	for _, s := range shown {
		fmt.Fprintf(w, " %s |", s.head)
	}
	fmt.Fprint(w, "\n|---|--:|--:|---|--:|"+strings.Repeat("--:|", len(shown))+"\n")
	for _, r := range rows {
		breaks, safe, leases := r.own()
		if len(breaks) == 0 {
			breaks = []string{"nothing"}
		}
		fmt.Fprintf(w, "| %s %s | %d | %d | %s | %d |", r.Library, r.Version, safe, leases, strings.Join(breaks, "; "), len(r.Unjudged))
		for _, s := range shown {
			cell := "–"
			if v, ok := r.Figures[s.name]; ok {
				cell = fmt.Sprintf(s.format, v)
			}
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
}

func readRows(file string) (rows []row, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}
