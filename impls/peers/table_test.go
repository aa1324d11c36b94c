package peers

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// fewest is of how many samples a 99th percentile is given.
const fewest = 100

// markdown is all that was measured.
func (c *contest) markdown() string {
	return fmt.Sprintf("Round trip of a PING: %s µs one after the other, %s µs after a pause of %v. CPU when nobody waits: %s ms. %d rounds.\n\n%s\n%s",
		micros(median(c.ping.busy)), micros(median(c.ping.idle)), work, millis(median(c.floor)), len(c.ping.busy), c.alone(), c.together())
}

// alone is the table of clients that nobody competes with.
func (c *contest) alone() string {
	out := head("one client", "acquire + release", "beside bare", "requests", "bytes", "allocations")
	for _, s := range c.solos {
		out += row(s.label(), micros(median(s.times))+" µs", fmt.Sprintf("%.2f", c.besideBare(s)),
			fmt.Sprint(s.cost.requests/pairsPerLap), fmt.Sprint(s.cost.bytes/pairsPerLap), fmt.Sprintf("%.0f", s.allocs))
	}
	return out
}

// together is the table of clients that compete, and that wait.
func (c *contest) together() string {
	out := head("clients that wait", "2: p50, p99", "8: p50, p99", "32: p50, p99", "unheld, in round trips", "requests, bytes per hold of 8",
		"requests per second", "CPU per second")
	for i, q := range c.queues {
		cells := []string{q.label()}
		var unheld []string
		for _, size := range c.crowds {
			cells = append(cells, size[i].spread())
			unheld = append(unheld, fmt.Sprintf("%.1f", float64(size[i].medianUnheld())/float64(median(c.ping.idle))))
		}
		eight := c.crowds[1][i]
		out += row(append(cells, strings.Join(unheld, ", "),
			fmt.Sprintf("%.1f, %d", float64(eight.cost.requests)/float64(eight.holds), eight.cost.bytes/eight.holds),
			fmt.Sprintf("%.1f", float64(q.cost.requests)/q.waited.Seconds()), millis(median(q.cpu))+" ms")...)
	}
	return out
}

func head(cells ...string) string { return row(cells...) + strings.Repeat("|---", len(cells)) + "|\n" }

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// label sets lockbench's own locks in bold.
func (s subject) label() string {
	if s.ours {
		return "**" + s.name + "**"
	}
	return s.name
}

// besideBare is the median of the ratios to the bare loop of the same round.
func (c *contest) besideBare(s *solo) float64 {
	ratios := make([]float64, len(s.times))
	for i, t := range s.times {
		ratios[i] = float64(t) / float64(c.solos[0].times[i])
	}
	return median(ratios)
}

// spread is the median and the 99th percentile of the hand-overs.
func (c *crowd) spread() string {
	all := make([]time.Duration, len(c.handOvers))
	for i, h := range c.handOvers {
		all[i] = h.total
	}
	slices.Sort(all)
	switch n := len(all); {
	case n == 0:
		return "none"
	case n < fewest:
		return fmt.Sprintf("%s µs, – (%d)", micros(all[n/2]), n)
	default:
		return fmt.Sprintf("%s, %s µs", micros(all[n/2]), micros(all[n*99/100]))
	}
}

// medianUnheld is for how long nobody knew that the lock was theirs.
func (c *crowd) medianUnheld() time.Duration {
	all := make([]time.Duration, len(c.handOvers))
	for i, h := range c.handOvers {
		all[i] = h.unheld
	}
	return median(all)
}

// median is 0 of nothing.
func median[T float64 | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func micros(d time.Duration) string { return fmt.Sprintf("%.0f", float64(d)/1e3) }

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
