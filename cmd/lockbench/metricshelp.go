package main

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// metricsHelp lists the metrics that gates take, with their units, and each distribution once.
func metricsHelp() string {
	var b strings.Builder
	b.WriteString("A limit is METRIC=LIMIT with --max and --min, and METRIC<=LIMIT or METRIC>=LIMIT in a\n" +
		"scenario's slo and with --find-rate. Times have a unit (20ms), shares may be in\npercent (1%).\n\n")
	var rows [][]string
	last := ""
	for _, m := range results.Metrics() {
		name, about := m.Name, m.About
		if family, _, ok := strings.Cut(m.Name, ".p"); ok && strings.Contains(about, ", p") {
			if family == last {
				continue
			}
			last, name, about = family, family+".pNN", about[:strings.LastIndex(about, ", p")]
		}
		rows = append(rows, []string{"  " + name, string(m.Unit), about})
	}
	_ = aligned(&b, rows) // into memory
	fmt.Fprintf(&b, "\npNN is one of %s; p99 alone is acquire.p99.", strings.Join(results.Quantiles(), ", "))
	return b.String()
}
