package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// metrics are the figures of a call of run, for Prometheus to read while it lasts. Counters go on
// from one repetition to the next. A finished run counts by its result, which is what was recorded;
// one under way by its progress, which may be a moment behind.
type metrics struct {
	labels string // of every figure of the call, without braces

	mu   sync.Mutex // protects what follows between the run and those who read
	all  []*series  // in the order of their first runs
	runs *series    // of the lock that runs; nil before the first
}

type series struct {
	lock     string
	ended    map[string]int64 // acquires by outcome
	faults   int64            // of the runs that ended
	now      harness.Progress // of the run under way, while its clients run
	runs     map[string]int64 // by verdict
	violated map[string]int64 // by property
}

func newMetrics(e harness.Experiment) *metrics {
	return &metrics{labels: fmt.Sprintf("scenario=%s,server=%s", label(e.Scenario.Name), label(e.Provider.Name()))}
}

// begin says whose run is next.
func (m *metrics) begin(lock string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.all, func(s *series) bool { return s.lock == lock })
	if at < 0 {
		at = len(m.all)
		m.all = append(m.all, &series{lock: lock, ended: map[string]int64{}, runs: map[string]int64{}, violated: map[string]int64{}})
	}
	m.runs = m.all[at]
}

// progress takes how far the run has come. The other phases tell no counts: the last of the
// clients' stand until the result is there.
func (m *metrics) progress(p harness.Progress) {
	if p.Phase != "clients" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs.now = p
}

// end puts the result of a run in place of its progress. Without one, because the run failed, its
// progress stands.
func (m *metrics) end(r *results.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.runs
	acquires := live(s.now)
	if r != nil {
		acquires = recorded(r)
		s.runs[string(r.Verdict)]++
		for _, p := range r.Properties {
			s.violated[string(p.Name)] += int64(p.Violations)
		}
	}
	sum(s.ended, acquires)
	s.faults += int64(s.now.Faults) // results do not list fault windows
	s.now.Rounds, s.now.Refused, s.now.Failed, s.now.Unknown, s.now.Faults = 0, 0, 0, 0, 0
}

func live(p harness.Progress) map[string]int64 {
	return map[string]int64{"granted": p.Rounds, "refused": p.Refused + p.Failed, "unknown": p.Unknown}
}

// recorded counts the acquires of a result by outcome.
func recorded(r *results.Result) map[string]int64 {
	counts := map[string]int64{}
	for outcome, n := range r.Operations["acquire"] {
		counts[cmp.Or(map[string]string{"ok": "granted", "unknown": "unknown"}[outcome], "refused")] += int64(n)
	}
	return counts
}

func sum(into, more map[string]int64) {
	for name, n := range more {
		into[name] += n
	}
}

// family is a figure and what it is of a lock.
type family struct {
	name, kind, help string
	of               func(*series, sampler)
}

// families are the figures in the order in which they are written.
func families() []family {
	return []family{
		{"lockbench_acquires_total", "counter", "Acquires that ended, by outcome.", func(s *series, add sampler) {
			acquires := live(s.now)
			sum(acquires, s.ended)
			addAll(acquires, "outcome", add)
		}},
		{"lockbench_fault_windows_total", "counter", "Faults that began.", func(s *series, add sampler) {
			add(float64(s.faults + int64(s.now.Faults)))
		}},
		{"lockbench_acquire_seconds", "gauge", "Quantiles of the time to a grant from the intended start, in the latest run so far, to within an eighth.",
			func(s *series, add sampler) {
				if s.now.P99 > 0 {
					add(s.now.P50.Seconds(), "quantile", "0.5")
					add(s.now.P99.Seconds(), "quantile", "0.99")
				}
			}},
		{"lockbench_run_seconds", "gauge", "How long the clients of the latest run have run.", func(s *series, add sampler) {
			add(s.now.Elapsed.Seconds())
		}},
		{"lockbench_runs_total", "counter", "Runs that were judged, by verdict.", func(s *series, add sampler) { addAll(s.runs, "verdict", add) }},
		{"lockbench_violations_total", "counter", "Violations in runs that were judged, by property.", func(s *series, add sampler) {
			addAll(s.violated, "property", add)
		}},
	}
}

// sampler adds a value; more are pairs of a label's name and value.
type sampler func(value float64, more ...string)

func addAll(counts map[string]int64, by string, add sampler) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		add(float64(counts[name]), by, name)
	}
}

// write returns the figures in Prometheus' text format, version 0.0.4.
func (m *metrics) write(w io.Writer) error {
	var x exposition
	x.family("lockbench_build_info", "gauge", "The version of lockbench; always 1.")
	x.sample("lockbench_build_info", "go="+label(runtime.Version()), 1, "version", linkedVersion(version, thisMachine().Build))
	m.mu.Lock()
	for _, f := range families() {
		x.family(f.name, f.kind, f.help)
		for _, s := range m.all {
			f.of(s, func(value float64, more ...string) {
				x.sample(f.name, "lock="+label(s.lock)+","+m.labels, value, more...)
			})
		}
	}
	m.mu.Unlock()
	_, err := io.WriteString(w, x.String())
	return err
}

type exposition struct{ strings.Builder }

func (x *exposition) family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (x *exposition) sample(name, labels string, value float64, more ...string) {
	for i := 0; i < len(more); i += 2 {
		labels += "," + more[i] + "=" + label(more[i+1])
	}
	fmt.Fprintf(x, "%s{%s} %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
}

// label quotes a label's value: a backslash, a quote and a line's end are escaped, and nothing else
// is.
func label(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// serveMetrics answers at /metrics until stop is called, which must be. Without a host in addr it
// listens on loopback.
func (a *app) serveMetrics(ctx context.Context, addr string, m *metrics) (stop func() error, err error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: --metrics-addr %s: want host:port, such as 127.0.0.1:9464", errUsage, addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--metrics-addr %s: %w: %w", addr, servers.ErrMissing, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = m.write(w) // whoever asked has gone
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }() // ends with stop
	a.say("metrics at http://%s/metrics", l.Addr())
	return func() error {
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}
