package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/results"
)

// TestKilledAtAnyMoment kills a whole run with SIGKILL. Nothing of it may go on: no server, no
// client, no reaper, no temp directory; and what was recorded can be judged. With LOCKBENCH_SOAK=1
// it does so 200 times.
func TestKilledAtAnyMoment(t *testing.T) {
	testneeds.RedisBinary(t)
	program := filepath.Join(t.TempDir(), "lockbench")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kills := 3
	if os.Getenv("LOCKBENCH_SOAK") != "" {
		kills = 100
	}
	for _, as := range []harness.ClientsAs{harness.Goroutines, harness.Processes} {
		t.Run(string(as), func(t *testing.T) {
			t.Parallel()
			judged := 0
			for i := range kills {
				v := &victim{program: program, dir: t.TempDir(), mark: fmt.Sprintf("LOCKBENCH_VICTIM=%s-%d-%d", as, os.Getpid(), i)}
				wait := func() { time.Sleep(time.Duration(rand.Int64N(int64(1500 * time.Millisecond)))) }
				if i == 0 {
					wait = func() { v.awaitRecording(t) } // when there is something to lose, however slow the machine
				}
				judged += v.kill(t, as, wait)
			}
			if judged == 0 {
				t.Error("no run got as far as recording anything: nothing was tested")
			}
		})
	}
}

// victim is a run that is to be killed. All that it starts inherits the mark in its environment.
type victim struct{ program, dir, mark string }

// out is where its run directory goes.
func (v *victim) out() string { return filepath.Join(v.dir, "runs") }

// awaitRecording waits until the run records. Its servers are there by then.
func (v *victim) awaitRecording(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(v.recordings(t)) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the run records nothing: this test would prove nothing")
		}
	}
	if !slices.Contains(v.alive(t), "redis-server") {
		t.Errorf("only %v are alive while it records: this test would prove nothing", v.alive(t))
	}
	if !results.Held(filepath.Dir(v.recordings(t)[0])) {
		t.Error("nobody holds the directory of a run that records: prune would delete it")
	}
}

func (v *victim) recordings(t *testing.T) []string {
	t.Helper()
	return glob(t, v.out(), "*-token-*", results.RecordingFile)
}

// kill starts a run, kills it when the wait is over, and looks at what is left. It gives 1 when
// there was a record to judge.
func (v *victim) kill(t *testing.T, as harness.ClientsAs, wait func()) int {
	t.Helper()
	temp := filepath.Join(v.dir, "tmp")
	must(t, os.Mkdir(temp, 0o700))
	cmd := exec.Command(v.program, "run", "--lock", "token", "--scenario", "pause-holder", "--server", "process", "--duration", "1m",
		"--clients-as", string(as), "--out", v.out())
	cmd.Env = append(os.Environ(), v.mark, "TMPDIR="+temp)
	start := time.Now()
	must(t, cmd.Start())
	wait()
	after := time.Since(start)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait() // it was killed
	gone := func() bool { return len(v.alive(t)) == 0 && len(glob(t, temp, "*")) == 0 }
	for end := time.Now().Add(20 * time.Second); !gone() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if !gone() {
		t.Errorf("killed after %v: left behind %v %v", after, v.alive(t), glob(t, temp, "*"))
	}
	return v.check(t, after)
}

// check has the run judged, as soon as there is one. It gives 1 when the run had come to recording.
func (v *victim) check(t *testing.T, after time.Duration) int {
	t.Helper()
	if len(glob(t, v.out(), "*-token-*", results.RunFile)) == 0 {
		return 0
	}
	if results.Held(glob(t, v.out(), "*-token-*")[0]) {
		t.Error("the directory of a run that was killed is held for ever")
	}
	said, err := exec.Command(v.program, "check", glob(t, v.out(), "*-token-*")[0]).CombinedOutput()
	var exit *exec.ExitError
	if code := 0; err != nil {
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != 1 && code != 3 {
			t.Errorf("killed after %v: check exits %d (%v)\n%s", after, code, err, said)
		}
	}
	return len(v.recordings(t))
}

// alive lists the commands of the processes that bear the mark or work in the victim's folder: a
// redis-server overwrites its environment. One that is dead and not yet waited for has neither any
// more.
func (v *victim) alive(t *testing.T) (commands []string) {
	t.Helper()
	for _, process := range glob(t, "/proc", "[0-9]*") {
		environ, _ := os.ReadFile(filepath.Join(process, "environ")) // not ours, or gone since the listing
		cwd, _ := os.Readlink(filepath.Join(process, "cwd"))
		if strings.HasPrefix(cwd, v.dir) || bytes.Contains(environ, []byte(v.mark+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			commands = append(commands, strings.TrimSpace(string(name)))
		}
	}
	return commands
}

func glob(t *testing.T, parts ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(parts...))
	must(t, err)
	return found
}
