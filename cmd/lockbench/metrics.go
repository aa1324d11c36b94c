package main

import (
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

	mu       sync.Mutex       // protects what follows between the run and those who read
	ended    map[string]int64 // acquires by outcome, of the runs that ended
	faults   int64            // likewise
	now      harness.Progress // of the run under way, while its clients run
	runs     map[string]int64 // by verdict
	violated map[string]int64 // by property
}

func newMetrics(e harness.Experiment) *metrics {
	return &metrics{labels: fmt.Sprintf("lock=%s,scenario=%s,server=%s", label(e.Variant.Name), label(e.Scenario.Name), label(e.Provider.Name())),
		ended: map[string]int64{}, runs: map[string]int64{}, violated: map[string]int64{}}
}

// progress takes how far the run has come. The other phases tell no counts: the last of the
// clients' stand until the result is there.
func (m *metrics) progress(p harness.Progress) {
	if p.Phase != "clients" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = p
}

// end puts the result of a run in place of its progress. Without one, because the run failed, its
// progress stands.
func (m *metrics) end(r *results.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults += int64(m.now.Faults) // results do not list fault windows
	if r == nil {
		m.ended = m.acquires()
	} else {
		m.runs[string(r.Verdict)]++
		for outcome, n := range r.Operations["acquire"] {
			name, known := map[string]string{"ok": "granted", "unknown": "unknown"}[outcome]
			if !known {
				name = "refused"
			}
			m.ended[name] += int64(n)
		}
		for _, p := range r.Properties {
			m.violated[string(p.Name)] += int64(p.Violations)
		}
	}
	m.now.Rounds, m.now.Refused, m.now.Failed, m.now.Unknown, m.now.Faults = 0, 0, 0, 0, 0
}

// acquires counts those of the runs that ended and of the run under way, by outcome.
func (m *metrics) acquires() map[string]int64 {
	return map[string]int64{"granted": m.ended["granted"] + m.now.Rounds, "refused": m.ended["refused"] + m.now.Refused + m.now.Failed,
		"unknown": m.ended["unknown"] + m.now.Unknown}
}

// write returns the figures in Prometheus' text format, version 0.0.4.
func (m *metrics) write(w io.Writer) error {
	var b strings.Builder
	family := func(name, kind, help string) func(labels string, value float64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		return func(labels string, value float64) {
			fmt.Fprintf(&b, "%s{%s} %s\n", name, labels, strconv.FormatFloat(value, 'g', -1, 64))
		}
	}
	counts := func(name, by, help string, all map[string]int64) {
		add := family(name, "counter", help)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			add(m.labels+","+by+"="+label(key), float64(all[key]))
		}
	}
	m.mu.Lock()
	family("lockbench_build_info", "gauge", "The version of lockbench; always 1.")("go="+label(runtime.Version())+",version="+label(linkedVersion(version, thisMachine().Build)), 1)
	counts("lockbench_acquires_total", "outcome", "Acquires that ended, by outcome.", m.acquires())
	family("lockbench_fault_windows_total", "counter", "Faults that began.")(m.labels, float64(m.faults+int64(m.now.Faults)))
	add := family("lockbench_acquire_seconds", "gauge", "Quantiles of the time to a grant from the intended start, in the latest run so far, to within an eighth.")
	if m.now.P99 > 0 {
		add(m.labels+`,quantile="0.5"`, m.now.P50.Seconds())
		add(m.labels+`,quantile="0.99"`, m.now.P99.Seconds())
	}
	family("lockbench_run_seconds", "gauge", "How long the clients of the latest run have run.")(m.labels, m.now.Elapsed.Seconds())
	counts("lockbench_runs_total", "verdict", "Runs that were judged, by verdict.", m.runs)
	counts("lockbench_violations_total", "property", "Violations in runs that were judged, by property.", m.violated)
	m.mu.Unlock()
	_, err := io.WriteString(w, b.String())
	return err
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
	a.say("metrics at http://%s/metrics", l.Addr())
	return serving(&http.Server{Handler: mux}, l), nil
}

// serving answers requests until stop is called, which must be.
func serving(s *http.Server, l net.Listener) (stop func() error) {
	s.ReadHeaderTimeout, s.ReadTimeout = 10*time.Second, 30*time.Second
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }() // ends with stop
	return func() error {
		err := s.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
}
