// Package exec_test runs the children of this folder, which are locks of libraries as Debian packages them, through lockbench.
package exec_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// child is one of the folder's programs.
type child struct {
	name, command string
	needs         string // the word of LOCKBENCH_REQUIRE
	there         []string
}

// children: what a machine lacks is skipped by name, unless LOCKBENCH_REQUIRE names it.
func children() []child {
	return []child{
		{"symfony-lock", "php symfony_lock.php", "php",
			[]string{"php", "-r", `exit(extension_loaded("redis") && is_file("/usr/share/php/Symfony/Component/Lock/autoload.php") ? 0 : 1);`}},
		{"laravel-cache-lock", "php laravel_lock.php", "php",
			[]string{"php", "-r", `exit(extension_loaded("redis") && is_file("/usr/share/php/Illuminate/Cache/autoload.php") ? 0 : 1);`}},
		{"tooz", "/usr/bin/python3 tooz_lock.py", "tooz", []string{"/usr/bin/python3", "-c", "import tooz, redis"}},
	}
}

// TestLibraries runs each library in two scenarios. In steady nothing may break. A holder that is paused past its lease goes on inside when it
// wakes: all three are leases without a fence, so uses of the resource overlap (exclusive-use by lease-overrun) and no library can prevent it;
// but their releases compare the token, so that the late release takes nobody's lock away (release-safety and mutual-exclusion pass).
func TestLibraries(t *testing.T) {
	if testing.Short() {
		t.Skip("runs real servers")
	}
	need(t, "process", exec.Command("redis-server", "--version"))
	program := filepath.Join(t.TempDir(), "lockbench")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/lockbench").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range children() {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.needs, exec.Command(c.there[0], c.there[1:]...))
			// Laravel's and tooz's leases are whole seconds.
			steady := c.run(t, program, 0, "--scenario", "steady", "--lease", "5s")
			says(t, steady, "PASS  "+c.name+" × steady")
			paused := c.overrun(t, program)
			says(t, paused, "FAIL  exclusive-use", "lease-overrun", "pass  mutual-exclusion · release-safety")
			if strings.Contains(paused, "mis-unlock") {
				t.Errorf("a release took away another's lock:\n%s", paused)
			}
		})
	}
}

// overrun runs pause-holder until a paused holder met the next one inside: a waiter that polls may come too late for that.
func (c child) overrun(t *testing.T, program string) (out string) {
	t.Helper()
	for seed := range 5 {
		var code int
		if out, code = c.ends(t, program, "--scenario", "pause-holder", "--lease", "1s", "--seed", strconv.Itoa(seed+1)); code == 1 {
			return out
		}
	}
	t.Fatalf("no seed of five met anybody:\n%s", out)
	return out
}

// run returns what lockbench shows, and wants its exit code.
func (c child) run(t *testing.T, program string, code int, args ...string) string {
	t.Helper()
	out, got := c.ends(t, program, append(args, "--seed", "1")...)
	if got != code {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, got, code, out)
	}
	return out
}

// ends returns what lockbench shows, and its exit code.
func (c child) ends(t *testing.T, program string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"run", "--exec", c.command, "--server", "process", "--out", t.TempDir()}, args...)...)
	out, err := cmd.CombinedOutput()
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out), got
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// need skips the test when a command fails, or fails it where LOCKBENCH_REQUIRE names what is missing.
func need(t *testing.T, what string, probe *exec.Cmd) {
	t.Helper()
	err := probe.Run()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), what) {
		t.Fatalf("%s: %v", what, err)
	}
	t.Skipf("%s: %v", what, err)
}
