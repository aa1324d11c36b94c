package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// cells makes a suite's runs end as the map says, by "lock scenario"; all others pass.
func cells(verdicts map[string]checker.Result) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
	return func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		v, ok := verdicts[e.Variant.Name+" "+e.Scenario.Name]
		if !ok {
			v = checker.Pass
		}
		return outcome(e, v), nil
	}
}

// TestSuiteWithoutServers: cells that had no server are the environment's, unless another try had
// one.
func TestSuiteWithoutServers(t *testing.T) {
	for _, row := range map[string]struct {
		err  error
		want int
	}{"no server": {servers.ErrMissing, 5}, "a lost one": {servers.ErrLost, 5}, "a port that was free the second time": {servers.ErrPortTaken, 0}, "another error": {errors.New("odd"), 3}} {
		tries := 0
		w := newWorld(checker.Pass)
		w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
			if tries++; tries > 1 {
				return outcome(e, checker.Pass), nil
			}
			return nil, fmt.Errorf("start: %w", row.err)
		}
		w.exits(t, row.want, "suite", "--locks", "token", "--scenarios", "steady")
	}
}

func TestSuiteShowsItsMatrix(t *testing.T) {
	w := newWorld(checker.Pass)
	w.runner = cells(map[string]checker.Result{"setnx steady": checker.Fail})
	w.exits(t, 1, "suite", "--locks", "token,setnx", "--scenarios", "steady,contended", "--seed", "9")
	want(t, "stdout", w.out.String(), "FAIL  3 of 4 cells as expected", "\nsetnx two!   holds\n", "\ntoken holds  holds\n",
		"not expected: mutual-exclusion/mis-unlock", "again        lockbench suite --locks token,setnx --scenarios steady,contended \\\n", "--server sim --seed 9\n")
	want(t, "stderr", w.err.String(), "setnx × steady: fail")
	for _, e := range w.ran {
		if e.Seed != 9 || !strings.Contains(e.Rerun, "lockbench run --lock "+e.Variant.Name) {
			t.Errorf("cell %+v", e)
		}
	}
}

// TestSuiteAgainstABaseline: what got worse since then fails the suite, whether it is expected by
// now or not.
func TestSuiteAgainstABaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "base.json")
	text := `{"schema":"lockbench/suite/v1","cells":[{"lock":"token","scenario":"steady","expected":"safe","observed":"safe","verdict":"pass"},
		{"lock":"set-nx-ex","scenario":"pause-before-release","expected":"safe","observed":"safe","verdict":"pass"}]}`
	must(t, os.WriteFile(file, []byte(text), 0o600))
	w := newWorld(checker.Pass)
	w.exits(t, 0, "suite", "--locks", "token", "--scenarios", "steady", "--baseline", file)
	want(t, "stdout", w.out.String(), "against "+file+": 0 changes")
	w = newWorld(checker.Pass)
	w.runner = cells(map[string]checker.Result{"set-nx-ex pause-before-release": checker.Fail})
	w.exits(t, 1, "suite", "--locks", "set-nx-ex", "--scenarios", "pause-before-release", "--baseline", file)
	want(t, "stdout", w.out.String(), "1 of 1 cell as expected", "newly broken  set-nx-ex × pause-before-release: was safe, is mutual-exclusion/mis-unlock")
	other := filepath.Join(t.TempDir(), "other.json")
	must(t, os.WriteFile(other, []byte(strings.ReplaceAll(text, `"observed":"safe"`, `"observed":"progress/unknown"`)), 0o600))
	w = newWorld(checker.Pass)
	flags := []string{"suite", "--locks", "token", "--scenarios", "steady", "--baseline", other}
	w.exits(t, 0, flags...)
	want(t, "stdout", w.out.String(), "against "+other+": 1 change", "other         token × steady: was progress/unknown, is safe")
	w.exits(t, 1, append(flags, "--exact")...)
	w.exits(t, 4, "suite", "--exact")
	w = newWorld(checker.Pass)
	if got := w.call(t, "suite", "--baseline", "nothing.json"); got != 4 || len(w.ran) > 0 {
		t.Errorf("no such baseline: exit code %d after %d runs, want 4 before any", got, len(w.ran))
	}
}

// TestSuiteRunsAllThatIsExpected: without a choice every lock meets every scenario that the
// catalogue speaks of, and every planted bug the one that must show it.
func TestSuiteRunsAllThatIsExpected(t *testing.T) {
	w := newWorld(checker.Pass)
	w.call(t, "suite")
	seen := map[string]bool{}
	for _, e := range w.ran {
		if _, known := e.Variant.Expect[e.Scenario.Name]; e.Variant.Planted != nil && !known {
			t.Errorf("planted bug %s was run in %s, which is not to show it", e.Variant.Name, e.Scenario.Name)
		}
		seen[e.Variant.Name], seen[e.Scenario.Name] = true, true
	}
	for _, v := range catalogue.Planted() {
		if !seen[v.Name] {
			t.Errorf("%s was not run", v.Name)
		}
	}
	for _, name := range append(lockNames(), "steady", "pause-holder", "kill-server", "long-lease") {
		if !seen[name] {
			t.Errorf("%s was not run", name)
		}
	}
	if seen["K1"] {
		t.Error("K1 was run, of which no variant expects anything")
	}
}

// TestSuiteInterrupted: the cell under way counts, no other is begun.
func TestSuiteInterrupted(t *testing.T) {
	w := newWorld(checker.Pass)
	w.suiteRunner = func(ctx context.Context, c harness.SuiteConfig) (results.Suite, error) {
		c.Side = 1
		return harness.Suite(ctx, c)
	}
	w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		w.signals <- os.Interrupt
		for !strings.Contains(w.err.String(), "once more to quit") { // said when no other cell can begin
			runtime.Gosched()
		}
		return outcome(e, checker.Pass), nil
	}
	store := filepath.Join(t.TempDir(), "suite.json")
	w.exits(t, 130, "suite", "--locks", "token", "--scenarios", "steady,contended,crash-waiter", "--store", store)
	if exists(store) {
		t.Error("a part of a suite was stored")
	}
	want(t, "stdout", w.out.String(), "INCONCLUSIVE  1 of 1 cell as expected", "2 not run", "interrupted after 1 of 3 cells")
	if strings.Contains(w.out.String(), "PASS") {
		t.Errorf("a suite that was interrupted passes:\n%s", w.out)
	}
}

// TestSuiteAbandoned: a second interrupt before anything was recorded leaves neither a directory
// nor a link.
func TestSuiteAbandoned(t *testing.T) {
	w, base := newWorld(checker.Pass), t.TempDir()
	w.runner = func(ctx context.Context, _ harness.Experiment) (*harness.Outcome, error) {
		w.signals <- os.Interrupt
		w.signals <- os.Interrupt
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.exits(t, 130, "suite", "--locks", "token", "--scenarios", "steady", "--out", base)
	want(t, "stderr", w.err.String(), "nothing was recorded that could be kept")
	if left, err := os.ReadDir(base); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// TestFullDiskIsToldOnce: of many files that a full disk refused, one is named.
func TestFullDiskIsToldOnce(t *testing.T) {
	full := func(path string) error {
		return fmt.Errorf("save %s: %w", path, &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC})
	}
	w := newWorld(checker.Pass)
	a := &app{world: w.world, line: &statusLine{w: w.err}, ran: true}
	a.complain(errors.Join(full("a"), errors.Join(full("b"), errViolated, full("c"))))
	want(t, "stderr", w.err.String(), "save a: ", "lockbench: 2 more files could not be saved")
	if strings.Contains(w.err.String(), "save b") {
		t.Errorf("every file is named:\n%s", w.err)
	}
}

// TestHelpThatCannotBeWritten: the exit code says that nobody saw the help.
func TestHelpThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"help", "run"}, {"run", "--help"}, {}} {
		w := newWorld("")
		w.world.out = fullDisk{}
		if code := execute(t.Context(), append([]string{"lockbench"}, args...), w.world); code != exitEnvironment {
			t.Errorf("%v: exit code %d, want %d", args, code, exitEnvironment)
		}
		want(t, "stderr", w.err.String(), "lockbench: help: write out: no space left on device")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "out", Err: syscall.ENOSPC}
}

// TestNothingIsMeasuredThatCannotBeSaved: files and directories that cannot be written are found
// before the first run.
func TestNothingIsMeasuredThatCannotBeSaved(t *testing.T) {
	none := t.TempDir() + "/none/file"
	for _, args := range [][]string{
		{"suite", "--locks", "token", "--scenarios", "steady", "--store", none},
		{"bench", "--locks", "token", "--store", none, "--out", t.TempDir()},
		{"bench", "--locks", "token", "--out", "/proc/none"},
	} {
		w := newWorld(checker.Pass)
		if got := w.call(t, args...); got != exitEnvironment || len(w.ran) > 0 {
			t.Errorf("%v: exit code %d after %d runs, want %d before any\n%s", args, got, len(w.ran), exitEnvironment, w.err)
		}
	}
}

// TestCommandThatTheServerLacks: it is the environment's, and what is lacking is said once and in
// full.
func TestCommandThatTheServerLacks(t *testing.T) {
	lacking := func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		if e.Variant.Name != "token-native" {
			return outcome(e, checker.Pass), nil
		}
		return nil, fmt.Errorf("client c1: acquire job: %w: the server has neither DELEX nor DELIFEQ", impls.ErrUnsupported)
	}
	const said = "lockbench: token-native: client c1: acquire job: unsupported: the server has neither DELEX nor DELIFEQ"
	w := newWorld("")
	w.runner = lacking
	if got := w.call(t, "bench", "--locks", "token-native", "--clients", "1,2", "--reps", "2", "--out", t.TempDir()); got != exitEnvironment || strings.Count(w.err.String(), said) != 1 {
		t.Errorf("bench: exit code %d\n%s", got, w.err)
	}
	w = newWorld("")
	w.runner = lacking
	w.call(t, "suite", "--locks", "token-native", "--scenarios", "steady")
	want(t, "stdout", w.out.String(), "n/a   token-native × steady: client c1: acquire job: unsupported")
}

// withDirs makes each cell leave a run directory, as real runs do.
func withDirs(t *testing.T, verdicts map[string]checker.Result) func(context.Context, harness.Experiment) (*harness.Outcome, error) {
	t.Helper()
	n := make(chan int, 1)
	n <- 0
	return func(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
		i := <-n
		n <- i + 1
		out, err := cells(verdicts)(ctx, e)
		d, createErr := results.Create(e.Base, results.Name(e.Now(), string(rune('a'+i)), e.Scenario.Name, e.Variant.Name), e.Aside)
		if createErr != nil {
			t.Error(createErr)
			return out, err
		}
		if err := d.SaveRun(results.Run{Lock: e.Variant.Name, Scenario: e.Scenario.Name, Phase: results.Checked}); err != nil {
			t.Error(err)
		}
		out.Dir = d.Path()
		return out, err
	}
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestSuiteKeepsWhatDiffers: the run directories of cells that are as expected go, unless all are
// to stay, and two suites never share one.
func TestSuiteKeepsWhatDiffers(t *testing.T) {
	verdicts := map[string]checker.Result{"setnx steady": checker.Fail, "setnx contended": checker.Inconclusive}
	for _, tt := range []struct {
		name string
		args []string
		want []string // run directories, without their times
	}{
		{"what differs and what is inconclusive", nil, []string{"contended-setnx", "steady-setnx"}},
		{"all", []string{"--keep-all"}, []string{"contended-setnx", "contended-token", "steady-setnx", "steady-token"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, out := newWorld(checker.Pass), t.TempDir()
			w.runner, w.random = withDirs(t, verdicts), strings.NewReader("abcdef") // two names
			args := append([]string{"suite", "--locks", "token,setnx", "--scenarios", "steady,contended", "--out", out, "-o", "json"}, tt.args...)
			for range 2 { // of the same second
				w.exits(t, 1, args...)
			}
			suites, err := filepath.Glob(filepath.Join(out, "suite-*"))
			if err != nil || len(suites) != 2 {
				t.Fatalf("suites %v, %v", suites, err)
			}
			for _, dir := range suites {
				var runs []string
				for _, name := range names(t, dir) {
					if run, _, ok := strings.Cut(name, "-2026"); ok || name == "latest" {
						runs = append(runs, run)
					}
				}
				if tt.args != nil { // an inconclusive cell is run again, and --keep-all keeps each try
					runs = slices.Compact(runs)
				}
				if !slices.Equal(runs, tt.want) {
					t.Errorf("%s has %v, want %v", dir, runs, tt.want)
				}
				s, err := results.LoadSuite(dir)
				must(t, err)
				for _, c := range s.Cells {
					if _, err := os.Stat(filepath.Join(c.Run, results.RunFile)); c.Run != "" && err != nil {
						t.Errorf("%s × %s: %v", c.Lock, c.Scenario, err)
					}
					if kept := c.Run != ""; kept != (tt.args != nil || c.Lock == "setnx") {
						t.Errorf("%s × %s: run %q", c.Lock, c.Scenario, c.Run)
					}
				}
			}
		})
	}
}

// TestSuiteShards: the shards have every cell once, whichever way they are split.
func TestSuiteShards(t *testing.T) {
	args := []string{"suite", "--locks", "token,setnx", "--scenarios", "steady,contended,crash-waiter", "-o", "json"}
	suiteOf := func(more ...string) (s results.Suite) {
		w := newWorld(checker.Pass)
		w.exits(t, 0, append(args, more...)...)
		must(t, json.Unmarshal([]byte(w.out.String()), &s))
		return s
	}
	whole := suiteOf()
	var parts []results.Suite
	for _, shard := range []string{"3/4", "1/4", "4/4", "2/4"} {
		parts = append(parts, suiteOf("--shard", shard))
	}
	got, err := results.MergeSuites(parts)
	must(t, err)
	var a, b []string
	for i := range whole.Cells {
		a, b = append(a, whole.Cells[i].Lock+whole.Cells[i].Scenario), append(b, got.Cells[i].Lock+got.Cells[i].Scenario)
	}
	if !slices.Equal(a, b) || got.Verdict != whole.Verdict || got.Rerun != whole.Rerun {
		t.Errorf("whole %v %s\njoined %v %s", a, whole.Rerun, b, got.Rerun)
	}
}
