package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/internal/suggest"
)

// Unit says what a metric's number counts.
type Unit string

// The units. A share is a part of one; a number has no dimension.
const (
	PerSecond   Unit = "1/s"
	Nanoseconds Unit = "ns"
	RoundTrips  Unit = "round trips"
	PerHold     Unit = "per hold" // of requests or bytes
	Share       Unit = "share"
	Number      Unit = "number"
)

// Metric is one thing that a run or a bench measures, under the one name by which gates, comparisons, files and tables call it.
type Metric struct {
	Name   string
	Unit   Unit
	Higher bool   // a higher value is better
	Need   int64  // samples below which there is no figure
	About  string // what it is, for help
}

// quantiles are the percentiles that are reported, each with the samples that it needs: one beyond it, at least.
var quantiles = []struct {
	name string
	q    float64
	need int64
}{{"p50", 0.50, 5}, {"p90", 0.90, 10}, {"p99", 0.99, 100}, {"p99.9", 0.999, 1000}}

// Quantiles lists the reported percentiles by name.
func Quantiles() (names []string) {
	for _, q := range quantiles {
		names = append(names, q.name)
	}
	return names
}

// Quantile returns the share of a percentile and the samples that it needs; ok reports whether it is one that is reported.
func Quantile(name string) (q float64, need int64, ok bool) {
	for _, one := range quantiles {
		if one.name == name {
			return one.q, one.need, true
		}
	}
	return 0, 0, false
}

// distributions are what percentiles are reported of.
var distributions = []struct {
	name  string
	unit  Unit
	about string
}{
	{"acquire", Nanoseconds, "wait for the lock, from the intended start"},
	{"acquire.service", Nanoseconds, "wait for the lock, from the call"},
	{"hold", Nanoseconds, "from the grant to the call of the release"},
	{"release", Nanoseconds, "the release"},
	{"extend", Nanoseconds, "an extend, of those that the lock does by itself also"},
	{"hand-over", Nanoseconds, "from the call of a release to the grant that a waiting client got next"},
	{"hand-over.trips", RoundTrips, "from the server's execution of the freeing command to the next grant"},
}

// Metrics lists every metric.
func Metrics() []Metric {
	all := []Metric{
		{"throughput", PerSecond, true, 1, "holds per second of all clients together"},
		{"achieved", Share, true, 1, "share of the offered rate that was finished (open loop)"},
		{"late", Share, false, 1, "share of rounds that began more than a millisecond late (open loop)"},
		{"errors", Share, false, 1, "share of acquires that ended in an error"},
		{"requests", PerHold, false, 1, "requests to the lock's servers for each hold"},
		{"bytes", PerHold, false, 1, "bytes to and from the lock's servers for each hold"},
		{"client-cpu", Nanoseconds, false, 1, "processor time of this process for each hold, recording included"},
		{"server-cpu", Nanoseconds, false, 1, "processor time of the lock's servers for each hold"},
		{"jain", Number, true, 2, "Jain's index of holds by client: 1 = equal shares, 1/n = all to one"},
		{"longest-wait", Nanoseconds, false, 1, "longest acquire"},
		{"bypasses", Share, false, 1, "share of grants to a client that asked after one who was still waiting"},
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

// FindMetric looks a metric up by its name. A percentile alone is that of the acquires. The error suggests the nearest name.
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
	return Metric{}, fmt.Errorf("unknown metric %q; known are %s, and percentiles (.p50 .p90 .p99 .p99.9) of %s", name,
		strings.Join(names[:len(names)-len(distributions)*len(quantiles)], ", "), strings.Join(distributionNames(), ", "))
}

func distributionNames() (names []string) {
	for _, d := range distributions {
		names = append(names, d.name)
	}
	return names
}
