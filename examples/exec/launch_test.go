package exec_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestOtherNamespace starts the children in a network namespace of their own, which reaches this machine over one cable: as on another
// machine, signals go by the launcher, and the servers that a child is given are those of --listen.
func TestOtherNamespace(t *testing.T) {
	program := build(t)
	need(t, "python", exec.Command("python3", "--version"))
	space, near, far := fmt.Sprintf("lockbench-%d", os.Getpid()), fmt.Sprintf("lb%da", os.Getpid()%100000), fmt.Sprintf("lb%db", os.Getpid()%100000)
	need(t, "netns", exec.Command("ip", "netns", "add", space))
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() }) // and with it the cable
	const here, there = "10.231.77.1", "10.231.77.2"
	for _, command := range [][]string{
		{"link", "add", near, "type", "veth", "peer", "name", far, "netns", space},
		{"addr", "add", here + "/30", "dev", near},
		{"link", "set", near, "up"},
		{"-n", space, "addr", "add", there + "/30", "dev", far},
		{"-n", space, "link", "set", far, "up"},
	} {
		need(t, "netns", exec.Command("ip", command...))
	}
	away := []string{"--launch", "ip netns exec {namespace}", "--hosts", space, "--listen", here, "--out", t.TempDir()}
	out, code := ends(t, program, append([]string{"run", "--exec", "python3 rawlock.py", "--scenario", "crash-holder", "--server", "process", "--seed", "1"}, away...)...)
	if code != 0 {
		t.Errorf("a holder that was killed there: exit code %d, want 0\n%s", code, out)
	}
	says(t, out, "PASS  python3-rawlock.py × crash-holder")
	out, code = ends(t, program, append([]string{"explore", "--exec", "python3 rawlock.py blind", "--schedules", "200"}, away...)...)
	if code != 1 {
		t.Errorf("a search: exit code %d, want 1\n%s", code, out)
	}
	says(t, out, "mis-unlock")
}
