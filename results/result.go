package results

import (
	"math"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/verdicts"
)

// ResultSchema is the schema name of result.json.
const ResultSchema = "lockbench/result/v1"

// LateBy is the lag, in nanoseconds, from which the start of a round counts as late.
const LateBy = int64(time.Millisecond)

// NoLatency is Result.NoLatency of a run in the simulator.
const NoLatency = "virtual time: no latency figures"

// Result is result.json: the verdict and the measurements of a run.
type Result struct {
	Schema  string         `json:"schema"`
	Verdict checker.Result `json:"verdict"`
	// why the run says little about the lock: errors, a missed rate
	Reason   string `json:"reason,omitempty"`
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Workload string `json:"workload,omitempty"` // in place of the scenario's; "" = the scenario's own
	Server   string `json:"server"`
	// the servers' make and version, as "Redis 7.0.15"; "" if there are none, or they are not known
	Product string `json:"product,omitempty"`
	Seed    uint64 `json:"seed"`
	// that were simulated; the damage is of the one that is kept, all other counts of their sum
	Schedules  int                  `json:"schedules,omitempty"`
	Finding    verdicts.Property    `json:"finding,omitempty"` // of a search: what it found, which its story tells
	Properties []checker.Property   `json:"properties"`
	Operations checker.Operations   `json:"operations"`
	Damage     *checker.Damage      `json:"damage,omitempty"`
	Latency    map[string]Operation `json:"latency"`                  // by operation; empty if not measured
	NoLatency  string               `json:"latency_absent,omitempty"` // why there are none
	Load       Throughput           `json:"load"`
	Wait       *latency.Wait        `json:"wait,omitempty"` // what the time of all acquires was spent on
	// how often the run reached what it could have reached: faults, moments, opportunities of
	// properties; of those with 0 it shows nothing
	Reached history.Reach `json:"reached,omitempty"`
	Gates   []GateResult  `json:"gates,omitempty"` // the scenario's limits, and those of --max and --min
	Health  Health        `json:"health"`
	Notes   []string      `json:"notes,omitempty"` // warnings that must be shown
	Rerun   string        `json:"rerun"`
}

// Throughput is the offered and the achieved load.
type Throughput struct {
	Clients  int           `json:"clients"`
	Open     bool          `json:"open"`     // open loop: rounds start by plan, not when the previous one ends
	Offered  float64       `json:"offered"`  // planned rounds per second; 0 in a closed loop
	Achieved float64       `json:"achieved"` // finished rounds per second
	Duration time.Duration `json:"duration"` // nanoseconds measured
	WarmUp   time.Duration `json:"warmup"`   // nanoseconds before, not measured
	Excluded int64         `json:"excluded"` // rounds during the warm-up
}

// Health reports problems of the harness itself. A run with such problems is inconclusive at best.
type Health struct {
	LateStarts int64         `json:"late_starts"`       // rounds that started more than a millisecond late, of Starts
	Starts     int64         `json:"starts"`            // rounds that had an intended start
	MaxLag     time.Duration `json:"max_lag"`           // longest lateness, nanoseconds
	Dropped    int64         `json:"histogram_dropped"` // samples outside the histograms' range
	// windows of the history that the linearizability check skipped
	NotSearched int           `json:"not_searched"`
	GCMax       time.Duration `json:"gc_max"`             // longest pause of the garbage collector, nanoseconds
	Unconfirmed int           `json:"faults_unconfirmed"` // faults that were not confirmed
	// longest stall of the harness, or of a request outside any fault; nanoseconds
	MaxStall time.Duration `json:"max_stall"`
	// MaxStall is more than a tenth of the lease: an unplanned fault
	Stalled bool `json:"stalled"`
}

// Operation is the latency of one operation. Split has every sample; Outside and
// Inside split them by whether the operation overlapped a fault window, and are absent if the run
// had none.
type Operation struct {
	Split
	Outside *Split `json:"outside_faults,omitempty"`
	Inside  *Split `json:"inside_faults,omitempty"`
}

// Split is an operation's samples, or one side of them.
type Split struct {
	Response Spread `json:"response"` // from the intended start
	Service  Spread `json:"service"`  // from the call
}

// Spread is a distribution in nanoseconds. Without samples all fields are 0. A percentile of fewer
// samples than it needs (see Quantile) is there, as the schema wants, and means little: no report
// shows it.
type Spread struct {
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p99.9"`
	Max   int64 `json:"max"`
	Count int64 `json:"count"`
}

// NewResult returns the result of a run with a verdict. The caller adds latencies (see SetLatency),
// load and health.
func NewResult(run Run, v checker.Verdict) Result {
	r := Result{
		Schema: ResultSchema, Verdict: v.Verdict,
		Lock: run.Lock, Scenario: run.Scenario, Workload: run.Workload, Server: run.Server, Seed: run.Seed, Schedules: run.Schedules,
		Properties: append([]checker.Property{}, v.Properties...), Operations: v.Operations, Damage: v.Damage,
		Latency: map[string]Operation{}, Notes: v.Notes,
		Health: Health{NotSearched: v.NotSearched},
		Rerun:  CommandLine(run.Argv),
	}
	if len(run.Nodes) > 0 && !strings.Contains(run.Nodes[0].Version, " ") { // "miniredis (not Redis)"
		r.Product = run.Nodes[0].Product()
	}
	if r.Operations == nil {
		r.Operations = checker.Operations{}
	}
	// JSON lacks some numbers: the rate over no opportunities becomes 0, with the interval from 0 to 1
	finite := func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
	for i := range r.Properties {
		p := &r.Properties[i]
		if !finite(p.Rate) {
			p.Rate = 0
		}
		if !finite(p.CI95[0]) || !finite(p.CI95[1]) {
			p.CI95 = [2]float64{0, 1}
		}
	}
	return r
}

// Broken reports whether a property was violated.
func (r Result) Broken() bool {
	return slices.ContainsFunc(r.Properties, func(p checker.Property) bool { return p.Verdict == checker.Fail })
}

// OutlivedOnly reports whether all that broke is what no lease without fences prevents: a client
// was inside, or wrote, after the end of its lease.
func (r Result) OutlivedOnly() bool {
	for _, p := range r.Properties {
		if p.Verdict != checker.Fail {
			continue
		}
		if p.Name != verdicts.ExclusiveUse && p.Name != verdicts.StoreIntegrity || len(p.Causes) != 1 || p.Causes[verdicts.LeaseOverrun] == 0 {
			return false
		}
	}
	return r.Broken()
}

// SetLatency sets the latencies and the number of dropped samples. A nil set removes them, because
// of why.
func (r *Result) SetLatency(set *latency.Set, why string) {
	r.Latency, r.NoLatency = map[string]Operation{}, why
	if set == nil {
		r.Health.Dropped = 0
		return
	}
	r.NoLatency, r.Health.Dropped = "", set.Dropped()
	faulty := slices.ContainsFunc(set.Ops(), func(op string) bool {
		return set.Get(latency.Tag{Op: op, Service: true, Inside: true}) != nil
	})
	for _, op := range set.Ops() {
		one := Operation{Split: Split{spread(set.Both(op, false)), spread(set.Both(op, true))}}
		side := func(inside bool) *Split {
			return &Split{spread(set.Get(latency.Tag{Op: op, Inside: inside})), spread(set.Get(latency.Tag{Op: op, Service: true, Inside: inside}))}
		}
		if faulty {
			one.Outside, one.Inside = side(false), side(true)
		}
		r.Latency[op] = one
	}
}

func spread(h *hdr.Histogram) Spread {
	if h == nil || h.TotalCount() == 0 {
		return Spread{}
	}
	return Spread{P50: h.ValueAtPercentile(50), P90: h.ValueAtPercentile(90), P99: h.ValueAtPercentile(99),
		P999: h.ValueAtPercentile(99.9), Max: h.Max(), Count: h.TotalCount()}
}
