package main

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/verdicts"
)

var metricsAt = regexp.MustCompile(`metrics at (http://127\.0\.0\.1:\d+/metrics)`)

// scrape reads the figures that the program serves, by the text before each value.
func scrape(t *testing.T, w *testWorld) map[string]float64 {
	t.Helper()
	at := metricsAt.FindStringSubmatch(w.err.String())
	if at == nil {
		t.Fatalf("no address of metrics in\n%s", w.err)
	}
	answer, err := http.Get(at[1])
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%s, %v: %v", answer.Status, answer.Header, err)
	}
	return parseMetrics(t, string(text))
}

// parseMetrics reads Prometheus' text format. Each family must be announced before its samples, and
// no sample may come twice.
func parseMetrics(t *testing.T, text string) map[string]float64 {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\}) (\S+)$`)
	known, out := map[string]bool{}, map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); words[0] == "#" {
			known[words[2]] = known[words[2]] || words[1] == "TYPE" && (words[3] == "counter" || words[3] == "gauge")
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || !known[m[1]] {
			t.Fatalf("%q is no sample of a known family in\n%s", line, text)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, twice := out[m[1]+m[2]]; twice || err != nil {
			t.Fatalf("%q: twice %v, %v", line, twice, err)
		}
		out[m[1]+m[2]] = value
	}
	return out
}

// metric names a figure of token × steady.
func metric(server, name string, more ...string) string {
	text := name + `{lock="token",scenario="steady",server="` + server + `"`
	for i := 0; i < len(more); i += 2 {
		text += `,` + more[i] + `="` + more[i+1] + `"`
	}
	return text + "}"
}

func wantMetrics(t *testing.T, when string, got, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if has, ok := got[name]; !ok || has != value {
			t.Errorf("%s: %s is %v (there: %v), want %v", when, name, has, ok, value)
		}
	}
}

// The figures follow the progress of a run, and its result once it is there; counters go on with
// the next run.
func TestMetricsFollowARun(t *testing.T) {
	w := newWorld(checker.Pass)
	at := func(name string, more ...string) string { return metric("process", name, more...) }
	first := true
	w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		if !first {
			wantMetrics(t, "between the runs", scrape(t, w), map[string]float64{
				at("lockbench_acquires_total", "outcome", "granted"): 75, at("lockbench_acquires_total", "outcome", "refused"): 12,
				at("lockbench_acquires_total", "outcome", "unknown"): 2, at("lockbench_fault_windows_total"): 4,
				at("lockbench_runs_total", "verdict", "fail"): 1, at("lockbench_violations_total", "property", "mutual-exclusion"): 1,
			})
		}
		e.Progress(harness.Progress{Phase: "clients", Elapsed: 1500 * time.Millisecond, Rounds: 70, Refused: 11, Unknown: 1, Faults: 4,
			P50: 2 * time.Millisecond, P99: 30 * time.Millisecond})
		e.Progress(harness.Progress{Phase: "checking", Elapsed: 2 * time.Second}) // knows no counts
		granted := 70.0
		if !first {
			granted += 75
		}
		wantMetrics(t, "while it runs", scrape(t, w), map[string]float64{
			at("lockbench_acquires_total", "outcome", "granted"): granted,
			at("lockbench_acquire_seconds", "quantile", "0.5"):   0.002, at("lockbench_acquire_seconds", "quantile", "0.99"): 0.03,
			at("lockbench_run_seconds"): 1.5,
		})
		first = false
		out := outcome(e, checker.Fail)
		out.Result.Operations = checker.Operations{"acquire": {"ok": 75, "busy": 9, "cancelled": 3, "unknown": 2}, "release": {"ok": 74}}
		return out, nil
	}
	w.exits(t, exitViolated, "run", "--lock", "token", "--reps", "2", "--metrics-addr", ":0")
	if first {
		t.Fatal("nothing ran")
	}
	if _, err := http.Get(metricsAt.FindStringSubmatch(w.err.String())[1]); err == nil {
		t.Error("somebody answers after the end")
	}
}

// A real run: what is read during it never exceeds what it recorded in the end, and what is read
// afterwards is that.
func TestMetricsOfARealRun(t *testing.T) {
	testneeds.RedisBinary(t)
	w := newWorld(checker.Pass)
	w.random = rand.Reader // two runs have two names
	w.providers = func() []servers.Provider { return []servers.Provider{servers.NewProcess(servers.ProcessOptions{})} }
	granted := metric("process", "lockbench_acquires_total", "outcome", "granted")
	var during float64
	var last *results.Result
	w.runner = func(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
		if last != nil {
			if got := scrape(t, w)[granted]; got != float64(last.Operations["acquire"]["ok"]) || during > got {
				t.Errorf("%v granted after the run and %v during it, want the %v that were recorded", got, during, last.Operations["acquire"])
			}
		}
		told := e.Progress
		e.Progress = func(p harness.Progress) {
			told(p)
			if last == nil {
				during = max(during, scrape(t, w)[granted])
			}
		}
		out, err := harness.Run(ctx, e)
		if err == nil && last == nil {
			last = &out.Result
		}
		return out, err
	}
	code := w.call(t, "run", "--lock", "token", "--server", "process", "--duration", "600ms", "--reps", "2", "--metrics-addr", "127.0.0.1:0", "--out", t.TempDir())
	if code != exitOK || during == 0 {
		t.Fatalf("exit code %d, %v granted while it ran\n%s", code, during, w.err)
	}
}

func TestMetricsLabelsAreEscaped(t *testing.T) {
	var e harness.Experiment
	e.Variant.Name, e.Scenario.Name, e.Provider = "a\"b\\c\nd", "steady", fakeProvider{name: "process"}
	var text strings.Builder
	m := newMetrics(e)
	m.end(&results.Result{Properties: []checker.Property{{Name: verdicts.MutualExclusion, Violations: 2}}})
	must(t, m.write(&text))
	name := `lockbench_violations_total{lock="a\"b\\c\nd",scenario="steady",server="process",property="mutual-exclusion"}`
	wantMetrics(t, "a hostile name", parseMetrics(t, text.String()), map[string]float64{name: 2})
}

func TestMetricsAddress(t *testing.T) {
	for addr, code := range map[string]int{"9464": exitUsage, "127.0.0.1:99999": exitEnvironment} {
		w := newWorld(checker.Pass)
		if got := w.call(t, "run", "--lock", "token", "--metrics-addr", addr); got != code || len(w.ran) != 0 {
			t.Errorf("--metrics-addr %s: exit code %d after %d runs, want %d and none", addr, got, len(w.ran), code)
		}
		want(t, "stderr", w.err.String(), "--metrics-addr "+addr)
	}
}
