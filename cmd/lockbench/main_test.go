package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden parts of the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockbench": main, "good-lock": lockChild(compareAndDelete), "bad-lock": lockChild(deleteWhatever)})
}

// TestScripts runs the program as people do. The command "exits N lockbench …" wants an exact exit
// code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			if name == "redis" {
				_, err := exec.LookPath("redis-server")
				return err == nil || strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "process"), nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	})
}

// exits runs a command and wants its exit code: exits 4 lockbench check nothing.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		// ts.Exec hides the *exec.ExitError behind its own text, which ends in "exit status N".
		if _, scanErr := fmt.Sscanf(err.Error(), "exit status %d", &got); scanErr != nil {
			ts.Fatalf("%s: %v", args[1], err)
		}
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
