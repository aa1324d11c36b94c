// Package exec_test runs lockbench with the children of this directory, which are locks of
// libraries as packaged by Debian.
package exec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/internal/schematest"
	"github.com/lockbench/lockbench/internal/testneeds"
)

// child is one of the folder's programs.
type child struct {
	name, command string
	needs         string // its word in LOCKBENCH_REQUIRE
	there         []string
}

// children returns the libraries. Tests skip those that are not installed, unless LOCKBENCH_REQUIRE
// names them.
func children() []child {
	return []child{
		{"symfony-lock", "php symfony_lock.php", "php",
			[]string{"php", "-r", `exit(extension_loaded("redis") && is_file("/usr/share/php/Symfony/Component/Lock/autoload.php") ? 0 : 1);`}},
		{"laravel-cache-lock", "php laravel_lock.php", "php",
			[]string{"php", "-r", `exit(extension_loaded("redis") && is_file("/usr/share/php/Illuminate/Cache/autoload.php") ? 0 : 1);`}},
		{"tooz", "/usr/bin/python3 tooz_lock.py", "tooz", []string{"/usr/bin/python3", "-c", "import tooz, redis"}},
	}
}

// TestChildrenKeepToTheSchema validates the requests to each child and its replies.
func TestChildrenKeepToTheSchema(t *testing.T) {
	program := build(t)
	all := append(children(),
		child{"rawlock", "python3 rawlock.py", "python", []string{"python3", "--version"}},
		child{"mylock", "/usr/bin/python3 mylock.py", "python-redis", []string{"/usr/bin/python3", "-c", "import redis"}})
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.needs, exec.Command(c.there[0], c.there[1:]...))
			dir := t.TempDir()
			c.command = fmt.Sprintf("tee -a %s/requests | %s | tee -a %s/replies", dir, c.command, dir)
			c.ends(t, program, "--scenario", "contended", "--lease", "1s", "--duration", "2s", "--seed", "1")
			validate(t, "../../subject/schema/child-request-v1.schema.json", filepath.Join(dir, "requests"))
			validate(t, "../../subject/schema/child-reply-v1.schema.json", filepath.Join(dir, "replies"))
		})
	}
}

// validate checks every line of a file against a schema. Clients share the file, so it skips lines
// in which the output of two is mixed.
func validate(t *testing.T, rule, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			continue
		}
		checked++
		for _, problem := range schematest.Check(t, rule, line) {
			t.Errorf("%s: %s", bytes.TrimSpace(line), problem)
		}
	}
	if checked < 20 {
		t.Errorf("%s has only %d lines", file, checked)
	}
}

// TestLibraries runs each library in two scenarios. In steady nothing may break. A holder that is
// paused past its lease continues inside when it resumes: all three have leases without fences, so
// uses overlap (exclusive-use by lease-overrun), which no library can prevent. But their releases
// compare the token, so a late release ends no other hold (release-safety and mutual-exclusion
// pass).
func TestLibraries(t *testing.T) {
	program := build(t)
	for _, c := range children() {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.needs, exec.Command(c.there[0], c.there[1:]...))
			// Laravel's and tooz's leases are whole seconds.
			steady, code := c.ends(t, program, "--scenario", "steady", "--lease", "5s", "--seed", "1")
			if code != 0 {
				t.Fatalf("exit code %d, want 0\n%s", code, steady)
			}
			says(t, steady, "PASS  "+c.name+" × steady")
			paused := c.overrun(t, program)
			says(t, paused, "FAIL  exclusive-use", "lease-overrun", "pass  mutual-exclusion · release-safety")
			if strings.Contains(paused, "mis-unlock") {
				t.Errorf("a release ended another client's hold:\n%s", paused)
			}
		})
	}
}

// build builds the program once. It makes the test parallel, because the tests mostly wait for
// servers and children.
func build(t *testing.T) (program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs real servers")
	}
	t.Parallel()
	need(t, "process", exec.Command("redis-server", "--version"))
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return programFile
}

var programFile string // set by TestMain

var built = sync.OnceValue(func() error {
	if out, err := exec.Command("go", "build", "-o", programFile, "../../cmd/lockbench").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lockbench-exec-")
	if err != nil {
		panic(err)
	}
	programFile = filepath.Join(dir, "lockbench")
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// TestExplore searches the schedules of real processes. A release by plain DEL ends another
// client's hold if it comes after the lease: the search finds and shrinks that, and the replay of
// its tape shows it again. It finds nothing in the same lock with a release that compares the
// token.
func TestExplore(t *testing.T) {
	program := build(t)
	need(t, "python", exec.Command("python3", "--version"))
	const right, blind = "python3 rawlock.py", "python3 rawlock.py blind"
	found := finds(t, program, blind, "--schedules", "400")
	if found.Cause != "mis-unlock" || len(found.Steps) > 15 {
		t.Errorf("found %s by %s in %d steps, want mis-unlock in 15 at the most: %s", found.Property, found.Cause, len(found.Steps), found.Steps)
	}
	none, code := ends(t, program, "explore", "--exec", right, "--schedules", "60", "--out", t.TempDir())
	if code != 0 {
		t.Errorf("the lock that compares the token: exit code %d, want 0\n%s", code, none)
	}
}

// TestExploreSeesWhatIsDone: the search reads what a child did from its commands. It finds a
// release that frees nothing, whatever the child reports of it, a thread that renews after the
// release whoever holds, though the child reports no renewals, and one that renews no more after a
// connection error; and nothing in a thread that goes on until the release. One search goes on at a
// time: a replay is timed.
func TestExploreSeesWhatIsDone(t *testing.T) {
	program := build(t)
	need(t, "python", exec.Command("python3", "--version"))
	for _, row := range []struct {
		mode, says string
		faults     string
		causes     []string // each shows the defect
	}{
		{"keeps", "EVAL", "", []string{"release-safety/no-unlock", "progress/no-unlock", "refusal/no-unlock"}},
		{"denies", "EVAL", "", []string{"release-safety/no-unlock"}},
		// of the next holder's key, or of one that nobody has
		{"stays", "PEXPIRE", "", []string{"release-safety/mis-unlock", "progress/orphan", "refusal/orphan"}},
		{"dies", "renews no more", "lose-reply,lose-request", []string{"renewal/renewal-gap"}},
	} {
		t.Run(row.mode, func(t *testing.T) {
			args := []string{"--schedules", "200"}
			if row.faults != "" {
				args = append(args, "--faults", row.faults)
			}
			found := finds(t, program, "python3 rawlock.py "+row.mode, args...)
			if got := found.Property + "/" + found.Cause; !slices.Contains(row.causes, got) {
				t.Errorf("found %s, want one of %s:\n%s", got, row.causes, strings.Join(found.Steps, "\n"))
			}
			says(t, strings.Join(found.Steps, "\n"), row.says)
		})
	}
	t.Run("renews", func(t *testing.T) {
		if out, code := ends(t, program, "explore", "--exec", "python3 rawlock.py renews", "--schedules", "60", "--out", t.TempDir()); code != 0 {
			t.Errorf("the thread that goes on until the release: exit code %d, want 0\n%s", code, out)
		}
	})
}

// TestSuiteSeesWhatIsDone: so does a suite. A stall of a busy machine makes a cell inconclusive;
// what was observed stands.
func TestSuiteSeesWhatIsDone(t *testing.T) {
	program := build(t)
	need(t, "python", exec.Command("python3", "--version"))
	for _, row := range []struct{ mode, scenario, says string }{
		{"keeps", "contended", "release-safety/no-unlock"},
		{"stays", "pause-holder", "release-safety/mis-unlock"},
	} {
		out, code := ends(t, program, "suite", "--exec", "python3 rawlock.py "+row.mode, "--scenarios", row.scenario, "--out", t.TempDir())
		if code != 1 && code != 3 || !strings.Contains(out, row.says) {
			t.Errorf("%s: exit code %d, want 1 by %s\n%s", row.mode, code, row.says, out)
		}
	}
}

// finding is the result of a search.
type finding struct {
	Property, Cause, Tape string
	Steps                 []string
}

// finds searches the schedules of a child for a violation, which the replay of its tape must show
// again.
func finds(t *testing.T, program, child string, args ...string) finding {
	t.Helper()
	out, code := ends(t, program, append([]string{"explore", "--exec", child, "--out", t.TempDir(), "-o", "json"}, args...)...)
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, out)
	}
	var result struct{ First finding }
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again, code := ends(t, program, "replay", result.First.Tape, "--exec", child, "--out", t.TempDir())
	if code != 1 {
		t.Errorf("replay: exit code %d, want 1", code)
	}
	// or another property, by the same defect
	if !strings.Contains(again, result.First.Property+" broken on real servers as well") {
		says(t, again, "not reproduced, but ", "/"+result.First.Cause+" is broken")
	}
	return result.First
}

// overrun runs pause-holder with up to five seeds until two clients were inside at once; a waiter
// that polls may come too late for that.
func (c child) overrun(t *testing.T, program string) (out string) {
	t.Helper()
	for seed := range 5 {
		var code int
		if out, code = c.ends(t, program, "--scenario", "pause-holder", "--lease", "1s", "--seed", strconv.Itoa(seed+1)); code == 1 {
			return out
		}
	}
	t.Fatalf("no violation with five seeds:\n%s", out)
	return out
}

// ends returns the output of a run of the child, and its exit code.
func (c child) ends(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	return ends(t, program, append([]string{"run", "--exec", c.command, "--server", "process", "--out", t.TempDir()}, args...)...)
}

// ends runs lockbench and returns stdout, or stderr if stdout is empty, and the exit code.
func ends(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out, chatter strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &chatter
	err := cmd.Run()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return chatter.String(), got
	}
	if internal := 70; got == internal {
		t.Logf("%v: %s", args, chatter.String())
	}
	return out.String(), got
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// need skips the test if a command fails, or fails it if LOCKBENCH_REQUIRE names what is missing.
func need(t *testing.T, what string, probe *exec.Cmd) {
	t.Helper()
	if err := probe.Run(); err != nil {
		testneeds.Need(t, what, fmt.Errorf("%s: %w", what, err))
	}
}
