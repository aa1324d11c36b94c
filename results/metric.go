package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/internal/suggest"
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

// Metric is something that a run or a bench measures. Gates, comparisons, files and tables use its name.
type Metric struct {
	Name   string
	Unit   Unit
	Higher bool   // a higher value is better
	Need   int64  // samples needed for a value
	About  string // for help
}

// quantiles are the reported percentiles. Each needs at least one sample beyond it.
var quantiles = []struct {
	name string
	q    float64
	need int64
}{{"p50", 0.50, 5}, {"p90", 0.90, 10}, {"p99", 0.99, 100}, {"p99.9", 0.999, 1000}}

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

// distributions are the metrics reported as percentiles.
var distributions = []struct {
	name  string
	unit  Unit
	about string
}{
	{"acquire", Nanoseconds, "wait for the lock, from the intended start"},
	{"acquire.service", Nanoseconds, "wait for the lock, from the call"},
	{"hold", Nanoseconds, "from the grant to the call of the release"},
	{"release", Nanoseconds, "the release"},
	{"extend", Nanoseconds, "an extend, including the lock's own renewals"},
	{"hand-over", Nanoseconds, "from the call of a release to the next grant of a waiting client"},
	{"hand-over.trips", RoundTrips, "from the server's execution of the freeing command to the next grant"},
}

// Metrics lists every metric.
func Metrics() []Metric {
	all := []Metric{
		{"throughput", PerSecond, true, 1, "holds per second of all clients together"},
		{"achieved", Share, true, 1, "share of the offered rate that was achieved (open loop)"},
		{"late", Share, false, 1, "share of rounds that started more than a millisecond late (open loop)"},
		{"errors", Share, false, 1, "share of acquires that ended in an error"},
		{"requests", PerHold, false, 1, "requests to the lock's servers per hold"},
		{"bytes", PerHold, false, 1, "bytes to and from the lock's servers per hold"},
		{"client-cpu", Nanoseconds, false, 1, "CPU time of this process per hold, recording included"},
		{"server-cpu", Nanoseconds, false, 1, "CPU time of the lock's servers per hold"},
		{"jain", Number, true, 2, "Jain's fairness index of holds by client: 1 = equal shares, 1/n = all to one"},
		{"longest-wait", Nanoseconds, false, 1, "longest acquire"},
		{"bypasses", Share, false, 1, "share of grants that overtook an earlier, still waiting acquire"},
		{"recovery", Nanoseconds, false, 1, "from a holder's crash to the next grant"},
		{"fault.throughput", PerSecond, true, 1, "holds per second inside the fault windows"},
		{"fault.recovery", Nanoseconds, false, 1, "from the end of a fault to the next grant"},
	}
	for _, d := range distributions {
		for _, q := range quantiles {
			all = append(all, Metric{d.name + "." + q.name, d.unit, false, q.need, d.about + ", " + q.name})
		}
	}
	return all
}

// FindMetric returns a metric by name; "p99" means "acquire.p99". The error suggests the nearest name.
func FindMetric(name string) (Metric, error) {
	if _, _, ok := Quantile(name); ok {
		name = "acquire." + name
	}
	all := Metrics()
	if i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	if hint := suggest.Hint(name, names); hint != "" {
		return Metric{}, fmt.Errorf("unknown metric %q%s", name, hint)
	}
	names = names[:len(names)-len(distributions)*len(quantiles)]
	var spread []string
	for _, d := range distributions {
		spread = append(spread, d.name)
	}
	return Metric{}, fmt.Errorf("unknown metric %q; known are %s, and percentiles (.p50 .p90 .p99 .p99.9) of %s", name,
		strings.Join(names, ", "), strings.Join(spread, ", "))
}
