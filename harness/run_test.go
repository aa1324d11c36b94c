package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/verdicts"
)

// experiment returns a lock in a built-in scenario, saved under the test's own directory.
func experiment(t *testing.T, lock, scenario string, p servers.Provider, as ClientsAs) Experiment {
	t.Helper()
	v, ok := catalogue.Find(lock)
	s, err := scenarios.Load(scenario)
	if !ok || err != nil {
		t.Fatal(lock, scenario, err)
	}
	const seed = 7
	return Experiment{Variant: v, Scenario: s.Resolve(seed, v.Topology), Provider: p, Seed: seed, As: as, Base: t.TempDir(),
		Now: time.Now, Random: rand.Reader}
}

// provider returns a provider of real servers, or skips the test if the machine has none and
// LOCKBENCH_REQUIRE does not ask for it.
func provider(t *testing.T, name string) servers.Provider {
	t.Helper()
	p := map[string]servers.Provider{
		"process": servers.NewProcess(servers.ProcessOptions{}), "docker": servers.NewDocker(servers.DockerOptions{}),
	}[name]
	testneeds.Need(t, name, p.Available(t.Context()))
	return p
}

// A job is done once per tick only if the client that did it keeps the lock until all have asked:
// whatever the lock, its release lets the next one in.
func TestATickIsDoneOnceIfTheLockIsKept(t *testing.T) {
	t.Parallel()
	for _, world := range []string{"sim", "process"} {
		var p servers.Provider = &Sim{Schedules: 1}
		if world != "sim" {
			p = provider(t, world)
		}
		for _, lock := range []string{"token", "fenced", "redisson"} {
			e := experiment(t, lock, "once-per-tick", p, Goroutines)
			expectVerdict(t, conclusive(t, e), []string{"store-integrity/own-release"}, []verdicts.Property{verdicts.MutualExclusion, verdicts.ExclusiveUse})
			e.Scenario.Keep = faults.Span{Fixed: 150 * time.Millisecond}
			expectVerdict(t, conclusive(t, e), nil, []verdicts.Property{verdicts.StoreIntegrity})
		}
	}
}

// conclusive makes a run until it says something of its lock, as a suite sees it, three times at
// most: on real servers the scheduler of the machine decides whether the other clients are still at
// work when a fault affects one, and may outlast a lease. If more than a tenth of the acquires have
// an unknown outcome, each of them may have held the lock, and a pass shows nothing.
func conclusive(t *testing.T, e Experiment) (out *Outcome) {
	t.Helper()
	for range 3 {
		var err error
		if out, err = Run(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		acquires, all := out.Verdict.Operations[history.Acquire.String()], 0
		for _, n := range acquires {
			all += n
		}
		known := 10*acquires[history.Unknown.String()] <= all
		if out.Verdict.Verdict == checker.Pass && known || out.Verdict.Verdict == checker.Fail && !out.Result.Health.Stalled {
			break
		}
	}
	return out
}

func expectVerdict(t *testing.T, out *Outcome, breaks []string, holds []verdicts.Property) {
	t.Helper()
	var seen []string
	for _, b := range results.Observed(out.Result) {
		seen = append(seen, b.String())
	}
	for _, want := range breaks {
		if !slices.Contains(seen, want) {
			t.Errorf("%s was not seen, only %v: %s, %s; notes %v", want, seen, out.Result.Verdict, out.Result.Reason, out.Result.Notes)
			t.Logf("faults %+v\noperations %+v", out.Windows, out.Verdict.Operations)
		}
	}
	for _, p := range out.Result.Properties {
		if slices.Contains(holds, p.Name) && p.Verdict != checker.Pass {
			t.Errorf("%s: %s %v, want pass; notes %v", p.Name, p.Verdict, p.Causes, out.Result.Notes)
			if p.First != nil {
				t.Log(strings.Join(p.First.Story, "\n") + "\n" + strings.Join(p.First.Lanes, "\n"))
			}
		}
	}
	if len(breaks) == 0 && out.Result.Verdict != checker.Pass {
		t.Errorf("verdict %s %v, want pass; %s", out.Result.Verdict, seen, out.Result.Reason)
	}
}

// TestRunDirectoryIsComplete: a run on servers and one in the simulator keep the same files, except
// that virtual time has no latencies; judging them again gives the same verdict.
func TestRunDirectoryIsComplete(t *testing.T) {
	both := []string{results.RunFile, results.ScenarioFile, results.HistoryFile, results.CommandsFile, results.FaultsFile, results.ResultFile}
	tests := []struct {
		server string
		files  []string
	}{
		{"process", append([]string{results.LatencyLog, "latency/acquire.hgrm"}, both...)},
		{"sim", both},
	}
	for _, tt := range tests {
		t.Run(tt.server, func(t *testing.T) {
			var p servers.Provider = &Sim{Schedules: 1}
			if tt.server != "sim" {
				p = provider(t, tt.server)
			}
			out, err := Run(t.Context(), experiment(t, "token", "pause-holder", p, Goroutines))
			must(t, err)
			for _, name := range tt.files {
				if info, err := os.Stat(filepath.Join(out.Dir, name)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := os.Stat(filepath.Join(out.Dir, results.RecordingFile)); err == nil {
				t.Error("the recording is left")
			}
			if out.Run.Phase != results.Checked || (tt.server != "sim") != (len(out.Run.Nodes) > 0 && out.Run.Nodes[0].Version != "") {
				t.Errorf("run record %+v", out.Run)
			}
			if len(out.Record.Ops) == 0 || len(out.Record.Commands) == 0 || len(out.Windows) == 0 {
				t.Errorf("the outcome has %d operations, %d commands, %d windows", len(out.Record.Ops), len(out.Record.Commands), len(out.Windows))
			}
			for _, p := range out.Result.Properties { // what a single schedule shows is not certain
				if tt.server == "sim" && p.Verdict == checker.Pass && (p.CI95[0] != 0 || p.CI95[1] <= 0) {
					t.Errorf("%s: %d violations in %d, interval %v", p.Name, p.Violations, p.Opportunities, p.CI95)
				}
			}
			again := recheck(t, out.Dir)
			if again.Verdict != out.Verdict.Verdict {
				t.Errorf("checked again: %s, was %s", again.Verdict, out.Verdict.Verdict)
			}
		})
	}
}

// recheck judges the files of a run directory alone.
func recheck(t *testing.T, dir string) *checker.Verdict {
	t.Helper()
	r, err := history.Open(filepath.Join(dir, results.HistoryFile))
	must(t, err)
	defer r.Close()
	commands, _, err := history.LoadCommands(filepath.Join(dir, results.CommandsFile))
	must(t, err)
	windows, err := history.LoadWindows(filepath.Join(dir, results.FaultsFile))
	must(t, err)
	d, err := results.Open(dir)
	must(t, err)
	run, err := d.LoadRun()
	must(t, err)
	v, err := checker.Check(t.Context(), checker.Input{Header: r.Header(), Ops: r, Commands: commands, Faults: windows}, checker.Options{Store: run.Store})
	must(t, err)
	return v
}

func TestStopKeepsWhatWasRecorded(t *testing.T) {
	e := experiment(t, "token", "steady", provider(t, "process"), Goroutines)
	e.Scenario.Ops, e.Scenario.Length.Fixed = 0, time.Minute
	stop := make(chan struct{})
	e.Stop = stop
	var last Progress
	enough := sync.OnceFunc(func() { close(stop) })
	e.Progress = func(p Progress) {
		if p.Phase == "clients" {
			last = p
		}
		if last.Rounds > 0 && last.P50 > 0 {
			enough()
		}
	}
	start := time.Now()
	out, err := Run(t.Context(), e)
	must(t, err)
	if took := time.Since(start); took > 20*time.Second || out.Result.Operations["acquire"]["ok"] == 0 {
		t.Errorf("stopped after %v with %v", took, out.Result.Operations)
	}
	if !out.Run.Interrupted || !slices.ContainsFunc(out.Result.Notes, func(n string) bool { return strings.HasPrefix(n, "interrupted after ") }) {
		t.Errorf("interrupted: %v, notes %q; want that it was stopped", out.Run.Interrupted, out.Result.Notes)
	}
	if out.Verdict.Verdict != checker.Pass || out.Result.Verdict != checker.Inconclusive || !strings.Contains(out.Result.Reason, "interrupted") {
		t.Errorf("the record %s, the run %s (%s); want that an interrupted run passes never", out.Verdict.Verdict, out.Result.Verdict, out.Result.Reason)
	}
	if last.Rounds == 0 || last.P50 <= 0 || last.P99 < last.P50 {
		t.Errorf("the last progress was %+v, want the latencies so far", last)
	}
}

func TestSimulatedRunIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	world := &Sim{} // which may keep something of earlier runs
	read := func(lock, scenario string, want checker.Result) (text []byte) {
		out, err := Run(t.Context(), experiment(t, lock, scenario, world, Goroutines))
		must(t, err)
		if out.Result.Verdict != want || len(out.Result.Latency) != 0 {
			t.Errorf("%s × %s: verdict %s, latencies %v; want %s and none", lock, scenario, out.Result.Verdict, out.Result.Latency, want)
		}
		r, err := history.Open(filepath.Join(out.Dir, results.HistoryFile))
		must(t, err)
		defer r.Close()
		for {
			var op history.Operation
			if err := r.Next(&op); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			text = history.AppendOperation(text, &op)
		}
		commands, scripts, err := history.LoadCommands(filepath.Join(out.Dir, results.CommandsFile))
		must(t, err)
		return fmt.Appendln(text, commands, slices.Sorted(maps.Keys(scripts)))
	}
	first := map[string]string{}
	for range 6 {
		for _, row := range []struct {
			lock, scenario string
			want           checker.Result
		}{
			{"set-nx-ex", "pause-holder", checker.Fail},
			// tries every 5 ms while the server is down: as often as go-redis' pool has room
			{"redsync-normalised", "restart-delayed", checker.Pass},
		} {
			again := string(read(row.lock, row.scenario, row.want))
			if first[row.lock] == "" {
				first[row.lock] = again
			}
			if again != first[row.lock] {
				t.Fatalf("%s × %s: the same seed gave records of %d and %d bytes that differ", row.lock, row.scenario, len(first[row.lock]), len(again))
			}
		}
	}
}

// TestSimulatedRunIsSearched: a run in the simulator is judged for the same properties as one on a
// server.
func TestSimulatedRunIsSearched(t *testing.T) {
	for lock, want := range map[string]checker.Result{"token": checker.Pass, "set-nx-ex": checker.Fail, "handoff": checker.Pass} {
		out, err := Run(t.Context(), experiment(t, lock, "pause-holder", &Sim{}, Goroutines))
		must(t, err)
		for _, p := range out.Result.Properties {
			if p.Name == verdicts.Linearizability && (p.Verdict != want || p.Judged == 0) {
				t.Errorf("%s: linearizability is %s, %d windows judged; want %s", lock, p.Verdict, p.Judged, want)
			}
		}
	}
}

// TestSchedulesDiffer: each schedule of a simulated run shows something of its own, though clients
// poll at fixed intervals.
func TestSchedulesDiffer(t *testing.T) {
	e := experiment(t, "token", "contended", &Sim{}, Goroutines)
	e.Scenario = e.Scenario.Resolve(1, e.Variant.Topology)
	d := &simDriver{Experiment: e, pool: &Sim{}}
	if _, err := d.deploy(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(d.close(), d.pool.Close()) }()
	waits := map[string]bool{}
	for seed := range uint64(5) {
		out, err := d.schedule(t.Context(), seed)
		must(t, err)
		var all []int64
		for _, op := range out.Ops {
			if op.Op == history.Acquire {
				all = append(all, (op.Return-op.Call)/int64(time.Millisecond))
			}
		}
		waits[fmt.Sprint(all)] = true
	}
	if len(waits) < 5 {
		t.Errorf("5 schedules have %d different sequences of waits, to the millisecond", len(waits))
	}
}

func TestSuiteHoldsCellsAgainstExpectations(t *testing.T) {
	right, _ := catalogue.Find("token")
	wrong := right
	wrong.Name, wrong.Expect = "wrong", map[string]verdicts.Expectation{"steady": verdicts.Breaks("mutual-exclusion/mis-unlock")}
	steady, _ := scenarios.Find("steady")
	cluster, _ := scenarios.Find("cluster-slots")
	simulated := &Sim{}
	out, err := Suite(t.Context(), SuiteConfig{Variants: []impls.Variant{right, wrong}, Scenarios: []scenarios.Scenario{steady, cluster}, Side: 2, Now: time.Now,
		Run: func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (*Outcome, error) {
			if s.Name == cluster.Name {
				return nil, fmt.Errorf("a cluster: %w", impls.ErrUnsupported)
			}
			return Run(ctx, Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: simulated, Seed: 1, Now: time.Now, Random: rand.Reader})
		}})
	must(t, err)
	var got []string
	for _, c := range out.Cells {
		got = append(got, c.Lock+" "+c.Scenario+" "+string(c.Verdict))
	}
	// wrong has no expectation for cluster-slots: no cell
	want := []string{"token steady pass", "token cluster-slots n/a", "wrong steady fail"}
	if !slices.Equal(got, want) || out.Verdict != checker.Fail {
		t.Errorf("cells %q, verdict %s; want %q and fail", got, out.Verdict, want)
	}
}

// TestSuiteRunsUnclearCellsAgain: a cell without a verdict is run again when the others are done,
// until it has one; one whose run failed is not, unless a port was taken.
func TestSuiteRunsUnclearCellsAgain(t *testing.T) {
	tests := []struct {
		name  string
		clear int // number of the run with a verdict; 0 for none
		err   error
		runs  int
		want  checker.Result
	}{
		{"the first run does", 1, nil, 1, checker.Pass},
		{"the third run does", 3, nil, 3, checker.Pass},
		{"no run does", 0, nil, attempts, checker.Inconclusive},
		{"the run fails", 0, errors.New("no redis-server"), 1, checker.Inconclusive},
		{"another process always takes the port of a server that is down", 0, fmt.Errorf("restart: %w", servers.ErrPortTaken), attempts, checker.Inconclusive},
	}
	token, _ := catalogue.Find("token")
	steady, _ := scenarios.Find("steady")
	for _, tt := range tests {
		runs := 0
		out, err := Suite(t.Context(), SuiteConfig{Variants: []impls.Variant{token}, Scenarios: []scenarios.Scenario{steady}, Now: time.Now,
			Run: func(context.Context, impls.Variant, scenarios.Scenario) (*Outcome, error) {
				runs++
				r := results.Result{Lock: "token", Scenario: "steady", Verdict: checker.Inconclusive}
				if runs == tt.clear {
					r.Verdict = checker.Pass
				}
				return &Outcome{Result: r}, tt.err
			}})
		if err != nil || runs != tt.runs || out.Cells[0].Verdict != tt.want {
			t.Errorf("%s: %d runs, verdict %s, error %v; want %d runs and %s", tt.name, runs, out.Cells[0].Verdict, err, tt.runs, tt.want)
		}
	}
}

func TestRefusedBeforeAnythingStarts(t *testing.T) {
	e := experiment(t, "token", "steady", &Sim{}, Goroutines)
	for name, change := range map[string]func(*Experiment){
		"a scenario that does not apply": func(e *Experiment) { e.Scenario.Name = "pubsub-cut" },
		"a workload that is none":        func(e *Experiment) { e.Scenario.Workload = "juggle" },
		"no clients":                     func(e *Experiment) { e.Scenario.Clients = 0 },
	} {
		bad := e
		change(&bad)
		if _, err := Run(t.Context(), bad); !errors.Is(err, ErrUsage) && !errors.Is(err, ErrNotApplicable) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(bad.Base); len(left) != 0 {
			t.Errorf("%s: a run directory was made", name)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
