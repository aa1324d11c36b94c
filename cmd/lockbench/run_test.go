package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/judge"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

func TestRunExitCodes(t *testing.T) {
	broken := errors.New("the recorder lost its file")
	for _, tt := range []struct {
		name    string
		verdict checker.Result
		err     error // of the run, beside its outcome
		args    []string
		want    int
	}{
		{"every property held", checker.Pass, nil, nil, 0},
		{"a violation", checker.Fail, nil, nil, 1},
		{"inconclusive", checker.Inconclusive, nil, nil, 3},
		{"the harness broke after a pass", checker.Pass, broken, nil, 70},
		{"the harness broke after a violation", checker.Fail, broken, nil, 1},
		{"the server went away", checker.Pass, fmt.Errorf("restart: %w", servers.ErrMissing), nil, 5},
		{"two lengths", checker.Pass, nil, []string{"--ops", "5", "--duration", "1s"}, 4},
		{"a URL that is none", checker.Pass, nil, []string{"--server", "http://x"}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.verdict)
			w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
				return outcome(e, tt.verdict), tt.err
			}
			args := append([]string{"run", "--lock", "token", "--seed", "5"}, tt.args...)
			w.exits(t, tt.want, args...)
			if usage := tt.want == 4 || tt.want == 5 && tt.err == nil; usage != (len(w.ran) == 0) {
				t.Errorf("%d runs were made", len(w.ran))
			}
		})
	}
}

// TestFlagsReachTheExperiment: every flag of run changes what is run.
func TestFlagsReachTheExperiment(t *testing.T) {
	fixed := func(d time.Duration) faults.Span { return faults.Span{Fixed: d} }
	for _, tt := range []struct {
		name string
		args []string
		ok   func(e harness.Experiment) bool
	}{
		{"defaults", nil, func(e harness.Experiment) bool {
			return e.Scenario.Name == "steady" && e.As == harness.Goroutines && e.Base == results.DefaultBase && e.Seed == 5
		}},
		{"scenario", []string{"--scenario", "pause-holder"}, func(e harness.Experiment) bool {
			return e.Scenario.Name == "pause-holder" && len(e.Scenario.Faults) > 0 && e.Scenario.Faults[0].For == fixed(450*time.Millisecond)
		}},
		{"clients", []string{"--clients", "17"}, func(e harness.Experiment) bool { return e.Scenario.Clients == 17 }},
		{"workload", []string{"--workload", "hot"}, func(e harness.Experiment) bool { return e.Scenario.Workload == "hot" }},
		{"rounds take the place of time", []string{"--ops", "9"}, func(e harness.Experiment) bool {
			return e.Scenario.Ops == 9 && e.Scenario.Length.Fixed == 0
		}},
		{"time takes the place of rounds", []string{"--duration", "90ms"}, func(e harness.Experiment) bool {
			return e.Scenario.Ops == 0 && e.Scenario.Length == fixed(90*time.Millisecond)
		}},
		{"rate", []string{"--rate", "12.5"}, func(e harness.Experiment) bool { return e.Scenario.Rate == 12.5 }},
		{"lease", []string{"--lease", "750ms"}, func(e harness.Experiment) bool { return e.Scenario.Lease == fixed(750*time.Millisecond) }},
		{"processes", []string{"--clients-as", "processes"}, func(e harness.Experiment) bool { return e.As == harness.Processes }},
		{"a value of the scenario", []string{"--set", "think=3 lease", "--lease", "100ms"}, func(e harness.Experiment) bool {
			return e.Scenario.Think == fixed(300*time.Millisecond)
		}},
		{"out", []string{"--out", "elsewhere"}, func(e harness.Experiment) bool { return e.Base == "elsewhere" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.exits(t, 0, append([]string{"run", "--lock", "token", "--seed", "5"}, tt.args...)...)
			if len(w.ran) != 1 || !tt.ok(w.ran[0]) {
				t.Errorf("ran %+v", w.ran[0].Scenario)
			}
		})
	}
}

// TestRerunRunsTheSameAgain: the line that a run prints makes the same experiment.
func TestRerunRunsTheSameAgain(t *testing.T) {
	w := newWorld(checker.Pass)
	w.exits(t, 0, "run", "--lock", "token", "--scenario", "pause-holder", "--clients", "3", "--set", "think=7ms", "--clients-as=processes")
	first := w.ran[0]
	if want := "lockbench run --clients 3 --clients-as processes --lock token --scenario pause-holder --set think=7ms --server process --seed "; !strings.HasPrefix(first.Rerun, want) {
		t.Errorf("rerun is %s", first.Rerun)
	}
	w.exits(t, 0, strings.Fields(first.Rerun)[1:]...)
	if again := w.ran[1]; planOf(t, again) != planOf(t, first) || again.Seed != first.Seed || again.As != first.As || again.Rerun != first.Rerun {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
}

// TestRunKeepsItsViews: what people read lies in the run directory, of a run that failed above all.
func TestRunKeepsItsViews(t *testing.T) {
	base := t.TempDir()
	w := newWorld(checker.Fail)
	w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		out := outcome(e, checker.Fail)
		d, err := results.Create(base, results.Name(e.Now(), "x", "s", "l"), false)
		if err != nil {
			return nil, err
		}
		out.Dir, out.Run.Phase = d.Path(), results.Checked
		return out, d.SaveRun(out.Run)
	}
	w.exits(t, 1, "run", "--lock", "token")
	for name, part := range map[string]string{results.SummaryFile: "## FAIL", results.ViolationsPath + "/001.txt": "broken by mis-unlock"} {
		data, err := os.ReadFile(filepath.Join(base, "latest", name))
		if err != nil {
			t.Error(err)
		}
		want(t, name, string(data), part)
	}
	want(t, "stdout", w.out.String(), "run       "+base)
}

// TestAutoSaysWhatItTook and why, and takes the first that is there.
func TestAutoSaysWhatItTook(t *testing.T) {
	gone := fmt.Errorf("redis-server: %w: apt install redis-server", servers.ErrMissing)
	for _, tt := range []struct {
		name      string
		providers []servers.Provider
		code      int
		took      string
		says      []string
	}{
		{"the first", []servers.Provider{fakeProvider{name: "process"}, fakeProvider{name: "docker"}}, 0, "process", []string{"server: process"}},
		{"the second", []servers.Provider{fakeProvider{"process", gone}, fakeProvider{name: "docker"}}, 0, "docker",
			[]string{"server: docker", "apt install redis-server"}},
		{"what is left", []servers.Provider{fakeProvider{"process", gone}, fakeProvider{"docker", gone}, &harness.Sim{}}, 0, "sim",
			[]string{"virtual time", "no latency figures"}},
		{"none", []servers.Provider{fakeProvider{"process", gone}}, 5, "", []string{"process: ", "apt install redis-server"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.providers = func() []servers.Provider { return tt.providers }
			w.exits(t, tt.code, "run", "--lock", "token")
			if len(w.ran) > 0 && (w.ran[0].Provider.Name() != tt.took || w.ran[0].Chosen == "") {
				t.Errorf("ran on %s, because %q", w.ran[0].Provider.Name(), w.ran[0].Chosen)
			}
			want(t, "stderr", w.err.String(), tt.says...)
		})
	}
}

func TestInterrupts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals int
		verdict checker.Result
		want    int
		says    string
	}{
		{"the first drains and judges", 1, checker.Pass, 130, "INCONCLUSIVE  token × steady"},
		{"a violation that was found still counts", 1, checker.Fail, 1, "FAIL  token × steady"},
		{"what was inconclusive anyway", 1, checker.Inconclusive, 3, "INCONCLUSIVE  token × steady"},
		{"the second quits", 2, checker.Pass, 130, ""},
		{"more change nothing", 3, checker.Pass, 130, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(tt.verdict)
			w.runner = func(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
				for range tt.signals {
					w.signals <- os.Interrupt
				}
				<-e.Stop
				if tt.signals > 1 {
					<-ctx.Done()
					return nil, fmt.Errorf("drive: %w", ctx.Err())
				}
				if ctx.Err() != nil {
					t.Error("the first interrupt abandoned the run")
				}
				out := outcome(e, tt.verdict)
				out.Run.Interrupted = true
				judge.Conclude(&out.Result, out.Verdict, judge.Ending{Interrupted: true})
				return out, nil
			}
			w.exits(t, tt.want, "run", "--lock", "token", "--reps", "5")
			if len(w.ran) != 1 {
				t.Errorf("%d runs, want no other after an interrupt", len(w.ran))
			}
			want(t, "stderr", w.err.String(), "once more to quit")
			want(t, "stdout", w.out.String(), tt.says)
		})
	}
}

// TestTheStepsToTheEnd: what each signal, and each wait that is too long, does to the work under
// way.
func TestTheStepsToTheEnd(t *testing.T) {
	for _, row := range []struct {
		name  string
		work  func(*app)
		asked []bool // a signal, or time that has run out
		want  string // s: the work is to stop, c: it is abandoned, q: the program has ended
	}{
		{"without work the first ends the program", func(*app) {}, []bool{true}, "q"},
		{"the first stops, the second abandons, the third ends", func(a *app) { a.listen(context.Background()) }, []bool{true, true, true}, "s sc scq"},
		{"time that runs out counts as a signal", func(a *app) { a.listen(context.Background()) }, []bool{true, false, false}, "s sc scq"},
		{"what keeps nothing is abandoned at once", func(a *app) { a.interruptible(context.Background()) }, []bool{true, true}, "sc scq"},
		{"work that has ended", func(a *app) { a.listen(context.Background()); a.ended() }, []bool{true}, "q"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			quit := ""
			w.quit = func(code int) { quit = map[bool]string{true: "q"}[code == exitInterrupted] }
			a := &app{world: w.world, line: &statusLine{w: w.err}}
			row.work(a)
			stop, ctx, got := a.interrupts.stop, a.interrupts.ctx, []string{}
			for _, asked := range row.asked {
				a.interrupts.next(a, asked)
				state := ""
				if ctx != nil && stop.Err() != nil {
					state += "s"
				}
				if ctx != nil && ctx.Err() != nil {
					state += "c"
				}
				got = append(got, state+quit)
			}
			if all := strings.Join(got, " "); all != row.want {
				t.Errorf("%q, want %q", all, row.want)
			}
		})
	}
}

// TestCheckIsInterrupted: the first signal ends a check.
func TestCheckIsInterrupted(t *testing.T) {
	file := t.TempDir() + "/history.jsonl"
	must(t, os.WriteFile(file, []byte(manyClients(1000)), 0o600))
	w := newWorld(checker.Pass)
	a := &app{world: w.world, line: &statusLine{w: w.err}}
	ctx, end := a.interruptible(t.Context())
	defer end()
	a.interrupts.next(a, true)
	<-ctx.Done()
	if err := a.check(ctx, file, false, a.writeJSON); exitCode(err) != exitInterrupted {
		t.Errorf("%v: exit %d, want %d", err, exitCode(err), exitInterrupted)
	}
}

// TestProgress: one line, redrawn, on a terminal; nothing of it in a pipe.
func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name     string
		terminal bool
		args     []string
		env      map[string]string
		drawn    bool
	}{
		{"a terminal", true, nil, nil, true},
		{"a pipe", false, nil, nil, false},
		{"a terminal that wants quiet", true, []string{"-q"}, nil, false},
		{"a terminal that cannot", true, nil, map[string]string{"TERM": "dumb"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.errTerminal, w.env = tt.terminal, func(k string) string { return tt.env[k] }
			w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
				e.Progress(harness.Progress{Phase: "clients", Elapsed: 2 * time.Second, Total: 11 * time.Second, Rounds: 500, Failed: 2, Unknown: 3, Overlaps: 4,
					Faults: 1, Current: "pause-client c2", P50: 1300 * time.Microsecond, P99: 2100 * time.Millisecond})
				return outcome(e, checker.Pass), nil
			}
			w.exits(t, 0, append([]string{"run", "--lock", "token"}, tt.args...)...)
			said := w.err.String()
			if strings.Contains(said, "\x1b") != tt.drawn {
				t.Errorf("stderr %q", said)
			}
			if tt.drawn {
				want(t, "stderr", said, "\r\x1b[Kclients 2.0s/11.0s  250/s  4 overlapping uses  now: pause-client c2  p50 1.30ms p99 2.10s  500 granted  2 failed  3 unknown  1 faults  token × steady\r")
				if !strings.HasSuffix(said, "\r\x1b[K") {
					t.Errorf("the line was left standing: %q", said)
				}
			}
			if strings.Contains(w.out.String(), "\x1b") {
				t.Errorf("escape bytes on stdout: %q", w.out)
			}
		})
	}
}

// TestRunProgress: what the status line says of a run, and what a narrow terminal shows of it.
func TestRunProgress(t *testing.T) {
	e := harness.Experiment{}
	e.Variant.Name, e.Scenario.Name = "token", "steady"
	for _, row := range []struct {
		why  string
		rate float64
		wide int
		p    harness.Progress
		want string
	}{
		{"before the clients", 0, 0, harness.Progress{Phase: "servers"}, "servers 0.0s  token × steady"},
		{"rounds that are counted", 0, 0, harness.Progress{Phase: "clients", Elapsed: time.Second, Rounds: 50, Expected: 120, Refused: 7},
			"clients 1.0s  50/s  50/120 granted  7 refused  token × steady"},
		{"an open loop", 200, 0, harness.Progress{Phase: "clients", Elapsed: 2 * time.Second, Total: 10 * time.Second, Rounds: 300},
			"clients 2.0s/10.0s  150 of 200/s  300 granted  token × steady"},
		{"a narrow terminal", 200, 20, harness.Progress{Phase: "clients", Elapsed: 2 * time.Second, Total: 10 * time.Second, Rounds: 300}, "clients 2.0s/10.0s "},
	} {
		e.Scenario.Rate = row.rate
		line := &statusLine{w: io.Discard, live: true, wide: row.wide}
		if line.show(runProgress(e, row.p)); line.text != row.want {
			t.Errorf("%s: %q, want %q", row.why, line.text, row.want)
		}
	}
}

func TestColours(t *testing.T) {
	for _, row := range []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"a terminal", true, nil, true},
		{"a pipe", false, nil, false},
		{"NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"a terminal without", true, map[string]string{"TERM": "dumb"}, false},
	} {
		w := newWorld(checker.Pass)
		w.outTerminal, w.env = row.terminal, func(k string) string { return row.env[k] }
		w.exits(t, 0, "run", "--lock", "token")
		if got := strings.Contains(w.out.String(), "\x1b["); got != row.want {
			t.Errorf("%s: colours %v, want %v: %q", row.name, got, row.want, w.out)
		}
	}
}

// TestPanicIsAnInternalError: it exits 70, with the stack on stderr.
func TestPanicIsAnInternalError(t *testing.T) {
	w := newWorld(checker.Pass)
	w.runner = func(context.Context, harness.Experiment) (*harness.Outcome, error) { panic("impossible") }
	w.exits(t, 70, "run", "--lock", "token")
	want(t, "stderr", w.err.String(), "internal error: impossible", "run_test.go")
}

// planOf returns the digest of what an experiment runs.
func planOf(t *testing.T, e harness.Experiment) string {
	t.Helper()
	digest, err := e.Scenario.Hash(e.Seed, e.Variant.Name)
	must(t, err)
	return digest
}
