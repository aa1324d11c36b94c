package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/internal/foreign"
)

// Unit is the unit of a metric.
type Unit string

// The units. A share is from 0 to 1; a number has no dimension.
const (
	PerSecond   Unit = "1/s"
	Nanoseconds Unit = "ns"
	RoundTrips  Unit = "round trips"
	PerHold     Unit = "per hold" // requests or bytes
	Share       Unit = "share"
	Number      Unit = "number"
)

// Metric is something that a run or a bench measures. Everything that is told of a metric but its
// value is in this file: gates, comparisons, files, tables and pages read it here.
type Metric struct {
	Name   string
	Unit   Unit
	Higher bool   // a higher value is better
	Need   int64  // samples needed for a value
	About  string // for help
	Words  string // at the head of a page's row; "" for a metric that the pages leave out
	Role   Role   // in a comparison
}

// Role is what a metric does in a comparison.
//
// In a closed loop the number of clients fixes how many rounds are under way, so the throughput is
// that number divided by the mean time of a round, which includes acquire, hand-over and release; a
// median of one of these is noisier and shows no more. In an open loop the plan fixes the
// throughput, and the wait shows what a lock costs.
type Role int

// The roles.
const (
	Uncompared  Role = iota
	Explains         // shown, to help to explain the others
	DecidesOpen      // decides the outcome in an open loop, explains in a closed one
	Decides          // decides the outcome
)

// Gated reports whether the metric decides the outcome of a comparison in an open or a closed loop.
func (m Metric) Gated(open bool) bool { return m.Role == Decides || m.Role == DecidesOpen && open }

// quantiles are the reported percentiles. Each needs at least one sample beyond it.
var quantiles = []struct {
	name  string
	q     float64
	need  int64
	words string
}{{"p50", 0.50, 5, "median"}, {"p90", 0.90, 10, "90 % within"}, {"p99", 0.99, 100, "99 % within"}, {"p99.9", 0.999, 1000, "99.9 % within"}}

// Quantiles returns the names of the reported percentiles.
func Quantiles() (names []string) {
	for _, q := range quantiles {
		names = append(names, q.name)
	}
	return names
}

// Quantile returns the share of a reported percentile, and the samples that it needs.
func Quantile(name string) (q float64, need int64, ok bool) {
	for _, one := range quantiles {
		if one.name == name {
			return one.q, one.need, true
		}
	}
	return 0, 0, false
}

// distributions are the metrics reported as percentiles; pages show those with a role.
var distributions = []struct {
	name, words string
	unit        Unit
	about       string
	role        map[string]Role // by percentile
}{
	{"acquire", "wait", Nanoseconds, "wait for the lock, from the intended start",
		map[string]Role{"p50": DecidesOpen, "p99": Explains, "p99.9": Uncompared}},
	{"acquire.service", "", Nanoseconds, "wait for the lock, from the call", nil},
	{"hold", "", Nanoseconds, "from the grant to the call of the release", nil},
	{"hand-over", "hand-over", Nanoseconds, "from the call of a release to the next grant of a waiting client",
		map[string]Role{"p50": Explains}},
	{"hand-over.trips", "hand-over in round trips", RoundTrips,
		"from the server's execution of the freeing command to the next grant", map[string]Role{"p50": Explains}},
	{"release", "release", Nanoseconds, "the release", map[string]Role{"p50": Explains}},
	{"extend", "", Nanoseconds, "an extend, including the lock's own renewals", nil},
}

// Metrics lists every metric, in the order of tables.
func Metrics() []Metric {
	all := []Metric{{"throughput", PerSecond, true, 1, "holds per second of all clients together", "holds per second", Decides}}
	for _, d := range distributions {
		for _, q := range quantiles {
			m := Metric{Name: d.name + "." + q.name, Unit: d.unit, Need: q.need, About: d.about + ", " + q.name}
			if role, shown := d.role[q.name]; shown {
				m.Role, m.Words = role, d.words+", "+q.words
			}
			all = append(all, m)
		}
	}
	return append(all, []Metric{
		{"requests", PerHold, false, 1, "requests to the lock's servers per hold", "requests per hold", Decides},
		{"bytes", PerHold, false, 1, "bytes to and from the lock's servers per hold", "bytes per hold", Explains},
		{"client-cpu", Nanoseconds, false, 1, "CPU time of this process per hold, recording included", "CPU of the clients per hold", Explains},
		{"server-cpu", Nanoseconds, false, 1, "CPU time of the lock's servers per hold", "CPU of the servers per hold", Explains},
		{"recovery", Nanoseconds, false, 1, "from a holder's crash to the next grant", "free again after a crash", Decides},
		{"jain", Number, true, 2, "Jain's fairness index of holds by client: 1 = equal shares, 1/n = all to one", "evenness (Jain: 1 = all alike)", Explains},
		{"longest-wait", Nanoseconds, false, 1, "longest acquire", "longest wait", Uncompared},
		{"bypasses", Share, false, 1, "share of grants that overtook an earlier, still waiting acquire", "grants out of turn", Uncompared},
		{"achieved", Share, true, 1, "share of the offered rate that was achieved (open loop)", "of the offered rate", Uncompared},
		{"late", Share, false, 1, "share of rounds that started more than a millisecond late (open loop)", "", Uncompared},
		{"errors", Share, false, 1, "share of acquires that ended in an error", "acquires that ended in errors", Explains},
		{"fault.throughput", PerSecond, true, 1, "holds per second inside the fault windows", "holds per second in faults", Uncompared},
		{"fault.recovery", Nanoseconds, false, 1, "from the end of a fault to the next grant", "first hold after a fault", Uncompared},
	}...)
}

// FindMetric returns a metric by name; "p99" means "acquire.p99". The error suggests the nearest
// name.
func FindMetric(name string) (Metric, error) {
	if _, _, ok := Quantile(name); ok {
		name = "acquire." + name
	}
	all := Metrics()
	if i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return all[i], nil
	}
	var names, single []string
	for _, m := range all {
		names = append(names, m.Name)
		if !strings.Contains(m.Name, ".p") {
			single = append(single, m.Name)
		}
	}
	if hint := foreign.Hint(name, names); hint != "" {
		return Metric{}, fmt.Errorf("unknown metric %q%s", name, hint)
	}
	var spread []string
	for _, d := range distributions {
		spread = append(spread, d.name)
	}
	return Metric{}, fmt.Errorf("unknown metric %q; known are %s, and percentiles (.p50 .p90 .p99 .p99.9) of %s", name,
		strings.Join(single, ", "), strings.Join(spread, ", "))
}
