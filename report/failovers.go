package report

import (
	"fmt"
	"io"

	"github.com/lockbench/lockbench/results"
)

// Failovers writes, below several runs, what the promoted replicas of all of them had of the lock. Without a failover it writes nothing.
func Failovers(w io.Writer, f *results.Failovers) error {
	if f == nil {
		return nil
	}
	return write(w, append([]string{""}, failoverLines(f)...))
}

func failoverLines(f *results.Failovers) []string {
	if f == nil {
		return nil
	}
	return []string{fmt.Sprintf("failovers %s, replica had the key in %s", count(f.Count), shareOf(f))}
}

func shareOf(f *results.Failovers) string {
	return fmt.Sprintf("%s (%s; 95 %%: %s to %s)", count(f.Had), percent(f.Share()), percent(f.CI95[0]), percent(f.CI95[1]))
}
