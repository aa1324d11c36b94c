package exec_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/servers"
)

// TestOtherNamespace starts the children in a network namespace of their own, connected by a
// virtual cable. As on another machine, the launcher passes signals on, and children connect to the
// addresses of --listen.
func TestOtherNamespace(t *testing.T) {
	program := build(t)
	need(t, "python", exec.Command("python3", "--version"))
	space, near, far := fmt.Sprintf("lockbench-%d", os.Getpid()), fmt.Sprintf("lb%da", os.Getpid()%100000), fmt.Sprintf("lb%db", os.Getpid()%100000)
	need(t, "netns", exec.Command("ip", "netns", "add", space))
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", space).Run() }) // also removes the cable
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
		t.Errorf("a killed holder: exit code %d, want 0\n%s", code, out)
	}
	says(t, out, "PASS  python3-rawlock.py × crash-holder")
	out, code = ends(t, program, append([]string{"explore", "--exec", "python3 rawlock.py blind", "--schedules", "200"}, away...)...)
	if code != 1 {
		t.Errorf("a search: exit code %d, want 1\n%s", code, out)
	}
	says(t, out, "mis-unlock")
}

// TestContainers starts the children in two containers in turn, with docker exec, and kills one.
// They connect to the addresses of --listen.
func TestContainers(t *testing.T) {
	program := build(t)
	image := cmp.Or(os.Getenv(servers.ImageEnv), servers.DefaultImage) // for its shell
	need(t, "docker", exec.Command("docker", "image", "inspect", image))
	child := filepath.Join(t.TempDir(), "golock")
	static := exec.Command("go", "build", "-o", child, "./golock")
	static.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := static.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var hosts []string
	var here string // this machine, as the containers see it
	for i := range 2 {
		name := fmt.Sprintf("lockbench-launch-%d-%d", os.Getpid(), i)
		docker(t, "run", "-d", "--rm", "--name", name, "--entrypoint", "sleep", image, "600")
		t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", name).Run() })
		docker(t, "cp", child, name+":/golock")
		hosts, here = append(hosts, name), docker(t, "inspect", name, "-f", "{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}")
	}
	// A signal takes as long as docker exec takes to start, longer than the scenario's lease.
	out, code := ends(t, program, "run", "--exec", "/golock", "--scenario", "crash-holder", "--server", "process", "--seed", "1", "--lease", "3s",
		"--launch", "docker exec -i {container}", "--hosts", strings.Join(hosts, ","), "--listen", here, "--out", t.TempDir())
	if code != 0 {
		t.Errorf("a killed holder: exit code %d, want 0\n%s", code, out)
	}
	says(t, out, "PASS  golock × crash-holder")
}

// docker runs a command of the engine and returns what it prints.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
