package servers_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	moby "github.com/moby/moby/client"

	"github.com/lockbench/lockbench/servers"
)

// docker is the provider, where there is one.
func docker(t *testing.T, options servers.DockerOptions) *servers.Docker {
	t.Helper()
	p := servers.NewDocker(options)
	need(t, p)
	return p
}

// engine is a client of the Docker engine.
func engine(t *testing.T) *moby.Client {
	t.Helper()
	c, err := moby.New(moby.FromEnv)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// containers lists the containers, running or not, of directories under a directory.
func containers(t *testing.T, under string) (ids []string) {
	t.Helper()
	list, err := engine(t).ContainerList(t.Context(), moby.ContainerListOptions{All: true, Filters: make(moby.Filters).Add("label", "lockbench.workspace")})
	must(t, err)
	for _, c := range list.Items {
		if strings.HasPrefix(c.Labels["lockbench.workspace"], under) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// A cancelled run is cleaned up like any other, even when it was cancelled during its start.
func TestContainersOfACancelledRun(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p := docker(t, servers.DockerOptions{TempDir: temp})
	ctx, cancel := context.WithCancel(t.Context())
	d, err := p.Start(ctx, alone)
	must(t, err)
	if len(containers(t, temp)) != 1 {
		t.Fatal("the start made no container, so the test checks nothing")
	}
	cancel()
	must(t, d.Close())
	must(t, d.Close()) // closing again has no effect
	if _, err := p.Start(ctx, alone); !errors.Is(err, context.Canceled) {
		t.Errorf("start on a cancelled context: %v", err)
	}
	if left := containers(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left := entries(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// If the reaper is killed too, the next start removes containers whose directory has no owner. Not
// parallel: the start of any other test would remove them.
func TestContainersOfADeadRunAreSwept(t *testing.T) {
	temp := t.TempDir()
	p := docker(t, servers.DockerOptions{TempDir: temp})
	host, err := os.Hostname()
	must(t, err)
	labels := map[string]string{"lockbench.host": host, "lockbench.workspace": temp + "/gone"}
	leftover, err := engine(t).ContainerCreate(t.Context(), moby.ContainerCreateOptions{
		Config: &container.Config{Image: p.Image(), Labels: labels},
	})
	must(t, err)
	start(t, p, alone)
	left := containers(t, temp)
	if len(left) != 1 || left[0] == leftover.ID {
		t.Errorf("containers %v, want the one that was just started and not %s", left, leftover.ID)
	}
}
