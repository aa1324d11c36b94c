package servers_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockbench/lockbench/servers"
)

// own starts servers in its own process, prints their addresses, and waits to be killed.
func own(provider string) {
	p := providers()[provider]
	d, err := p.Start(context.Background(), servers.Spec{Name: "owned"})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	// One node is paused: a stopped process must die too.
	if err := d.Pause(context.Background(), 0); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("up", d.Addr(0))
	time.Sleep(time.Minute)
	os.Exit(1)
}

// A run that is killed without cleaning up leaves no server and no directory.
func TestNothingOutlivesItsOwner(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) { outlived(t, p) })
}

// The reaper removes containers with curl if there is no docker command.
func TestContainersGoWithoutADockerCommand(t *testing.T) {
	t.Parallel()
	p := docker(t, servers.DockerOptions{})
	tools := t.TempDir()
	for _, tool := range []string{"sh", "curl", "grep", "ps", "rm", "sleep"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		must(t, os.Symlink(path, filepath.Join(tools, tool)))
	}
	outlived(t, p, "PATH="+tools)
}

// outlived kills the owner of a server and waits until its resources are gone.
func outlived(t *testing.T, p servers.Provider, env ...string) {
	t.Helper()
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, ownerEnv+"="+p.Name(), "TMPDIR="+temp)...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var word, addr string
	line, _ := bufio.NewReader(out).ReadString('\n')
	if fmt.Sscan(line, &word, &addr); word != "up" {
		t.Fatalf("the owner printed: %s", line)
	}
	if len(entries(t, temp)) == 0 {
		t.Fatal("the owner has no directory, so the test checks nothing")
	}
	if p.Name() == "docker" && len(containers(t, temp)) != 1 {
		t.Fatal("the owner's container has no label, so the test checks nothing")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	eventually(t, "the server is gone", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	eventually(t, "the directory is gone", func() bool { return len(entries(t, temp)) == 0 })
	if p.Name() == "docker" {
		eventually(t, "the container is gone", func() bool { return len(containers(t, temp)) == 0 })
	}
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	must(t, err)
	return all
}
