package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockbench/lockbench/impls"
)

const (
	// DefaultImage is used if neither DockerOptions nor the environment names an image.
	DefaultImage = "redis:7.4"
	// ImageEnv names the image in the environment.
	ImageEnv = "LOCKBENCH_REDIS_IMAGE"

	workspaceLabel = "lockbench.workspace" // directory of a container's deployment
	hostLabel      = "lockbench.host"      // machine of that directory

	// containersMark is a file whose presence makes the reaper look for containers.
	containersMark = "containers"
	clearingTime   = 30 * time.Second // for removing containers after the run's context has ended
)

// DockerOptions are the settings of the docker provider. The zero value is ready for use.
type DockerOptions struct {
	Image   string // "" means LOCKBENCH_REDIS_IMAGE, or else redis:7.4
	TempDir string // parent of the servers' directories; "" means the system's temp directory
}

// Docker starts one container per server with testcontainers-go (DOCKER_HOST,
// TESTCONTAINERS_HOST_OVERRIDE, … apply). A killed one changes its port.
//
// Close removes the containers, even after a cancelled run. If lockbench is killed, the reaper
// does, with docker or curl, or else the next start.
type Docker struct {
	options DockerOptions
	shim    shim
}

var _ surveyor = (*Docker)(nil)

// NewDocker returns the provider. Available and Start report whether there is a Docker engine.
func NewDocker(options DockerOptions) *Docker {
	options.Image = cmp.Or(options.Image, os.Getenv(ImageEnv), DefaultImage)
	return &Docker{options: options}
}

func (*Docker) Name() string { return "docker" }
func (*Docker) Guest() bool  { return false }

// Image returns the name of the image.
func (d *Docker) Image() string { return d.options.Image }

// Available pings the engine, and pulls the image if it is missing, which may take minutes.
func (d *Docker) Available(ctx context.Context) error {
	e, err := newEngine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	if _, err := e.api.ImageInspect(ctx, d.options.Image); err == nil {
		return nil
	}
	// It tries once: if the registry is unreachable, retrying does not help.
	pull, err := e.api.ImagePull(ctx, d.options.Image, client.ImagePullOptions{})
	if err == nil {
		_, err = io.Copy(io.Discard, pull)
		err = errors.Join(err, pull.Close())
	}
	if err == nil {
		_, err = e.api.ImageInspect(ctx, d.options.Image)
	}
	if err != nil {
		return noImage(d.options.Image, err)
	}
	return nil
}

func (d *Docker) found(ctx context.Context) (string, error) {
	e, err := newEngine(ctx)
	if err != nil {
		return "", err
	}
	defer e.Close()
	version, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", fmt.Errorf("version of the Docker engine: %w", err)
	}
	state := "is present"
	if _, err = e.api.ImageInspect(ctx, d.options.Image); err != nil {
		state = "will be pulled"
		if _, err = e.api.DistributionInspect(ctx, d.options.Image, client.DistributionInspectOptions{}); err != nil {
			err = noImage(d.options.Image, err)
		}
	}
	return fmt.Sprintf("Docker engine %s, image %s %s", version.Version, d.options.Image, state), err
}

// ability refuses clock faults if there is no compiler or the engine is on another machine; all
// else is possible.
func (d *Docker) ability(ctx context.Context, a Ability) error {
	if !a.Clock {
		return nil
	}
	e, err := newEngine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	return errors.Join(e.needLocal("clock faults"), d.shim.try(ctx))
}

// Start starts the containers.
func (d *Docker) Start(ctx context.Context, spec Spec) (Deployment, error) {
	spec, err := spec.fill()
	if err != nil {
		return nil, err
	}
	if spec.Topology == impls.Cluster && spec.Nodes > impls.ClusterMasters {
		return nil, fmt.Errorf("a cluster with replicas in containers, whose replicas would dial the addresses that clients are told: %w; --server process has one", ErrRefused)
	}
	if err := d.Available(ctx); err != nil {
		return nil, err
	}
	e, err := newEngine(ctx)
	if err != nil {
		return nil, err
	}
	site, err := e.newSite(ctx, d.options)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	spec.Log = spec.Log && e.host.IsLoopback() // the files are read on this machine
	return launch(ctx, spec, site, func(i int, known string) (machine, error) {
		return d.machine(ctx, site, spec, i, known)
	})
}

// site is what the containers of one deployment share.
type site struct {
	engine    *engine
	workspace *workspace
	image     string
	digest    string
	labels    map[string]string
}

// newSite removes containers of this machine whose directory has no owner, and makes a directory.
func (e *engine) newSite(ctx context.Context, options DockerOptions) (*site, error) {
	image, err := e.api.ImageInspect(ctx, options.Image)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", options.Image, err)
	}
	digest := options.Image + "@" + image.ID // it never was in a registry
	if len(image.RepoDigests) > 0 {
		_, id, _ := strings.Cut(image.RepoDigests[0], "@")
		digest = options.Image + "@" + id
	}
	machine, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	leftovers, err := e.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", hostLabel+"="+machine),
	})
	if err == nil { // else, and if one cannot be removed, the next run tries again
		for _, c := range leftovers.Items {
			if dir := c.Labels[workspaceLabel]; dir != "" && orphaned(dir) {
				_, _ = e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{RemoveVolumes: true, Force: true})
			}
		}
	}
	// The reaper's docker command must use the engine that testcontainers found.
	workspace, err := newWorkspace(options.TempDir, "DOCKER_HOST="+e.api.DaemonHost())
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(workspace.dir, containersMark), nil, 0o600); err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	labels := map[string]string{workspaceLabel: workspace.dir, hostLabel: machine}
	return &site{engine: e, workspace: workspace, image: options.Image, digest: digest, labels: labels}, nil
}

// machine returns the container of a server or a sentinel, with a clock that can be set if the spec
// says so. With sentinels, containers share the
// network of this machine, since sentinels tell clients by which address the servers know each
// other. The directory of a sentinel, and of a server whose append-only file is to be read, is on
// this machine.
func (d *Docker) machine(ctx context.Context, s *site, spec Spec, i int, known string) (m *dockerMachine, err error) {
	m = &dockerMachine{site: s, args: spec.args(known)}
	if known != "" {
		if err := s.engine.needLocal("sentinels"); err != nil {
			return nil, err
		}
		if m.port, err = freePort(); err != nil {
			return nil, err
		}
		m.args = append(m.args, "--bind", "127.0.0.1", "--port", fmt.Sprint(m.port))
	}
	sentinel := i >= spec.Nodes
	if sentinel || spec.Log {
		if m.data, err = s.workspace.subdir(fmt.Sprintf("data-%d", i)); err != nil {
			return nil, err
		}
		m.args, m.binds = append(m.args, "--dir", dataInside), append(m.binds, m.data+":"+dataInside)
	}
	if sentinel {
		m.args, err = spec.sentinelArgs(m.data, dataInside, m.port, known)
	}
	if err != nil || !spec.ClockFaults {
		return m, err
	}
	if err := s.engine.needLocal("clock faults"); err != nil {
		return nil, err
	}
	dir, err := s.workspace.subdir(fmt.Sprintf("node-%d", i))
	if err != nil {
		return nil, err
	}
	object, clock, err := d.shim.install(ctx, dir)
	const inside = "/lockbench-"
	m.clock = clock
	m.binds = append(m.binds, object+":"+inside+clockObject+":ro", clock+":"+inside+clockFile+":ro")
	m.env = map[string]string{"LD_PRELOAD": inside + clockObject, clockEnv: inside + clockFile}
	return m, err
}

// Close removes the directory and closes the engine's client. The containers must be removed
// before.
func (s *site) Close() error { return errors.Join(s.workspace.Close(), s.engine.Close()) }
