//go:build unix

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/client"
)

const (
	// DefaultImage is used where neither DockerOptions nor the environment names one.
	DefaultImage = "redis:7.4"
	// ImageEnv names the image in the environment.
	ImageEnv = "LOCKBENCH_REDIS_IMAGE"

	workspaceLabel = "lockbench.workspace" // the directory of the deployment that a container belongs to
	hostLabel      = "lockbench.host"      // the machine of that directory

	// containersMark in the directory tells the reaper that there may be containers.
	containersMark = "containers"
	clearingTime   = 30 * time.Second // for removing containers when the run's own context is over
)

// DockerOptions are the settings of the docker provider. The zero value is ready for use.
type DockerOptions struct {
	Image   string // "" means LOCKBENCH_REDIS_IMAGE, or else redis:7.4
	TempDir string // where directories are made; "" means the system's temp directory
}

// Docker starts one container per server with testcontainers-go, whose environment variables (DOCKER_HOST,
// TESTCONTAINERS_HOST_OVERRIDE, TESTCONTAINERS_RYUK_DISABLED...) apply. A container that was killed and is started again
// comes back on another port.
//
// Containers are removed at Close, also when the run was cancelled. When we are killed they are removed by Ryuk, where that
// is enabled, and by our own reaper, where there is a docker command or curl; the next start removes what is left even then.
type Docker struct {
	options DockerOptions
	shim    shim
}

var _ surveyor = (*Docker)(nil)

// NewDocker makes the provider. Whether there is a Docker engine is asked by Available and Start.
func NewDocker(options DockerOptions) *Docker {
	if options.Image == "" {
		options.Image = os.Getenv(ImageEnv)
	}
	if options.Image == "" {
		options.Image = DefaultImage
	}
	return &Docker{options: options}
}

// Name is "docker".
func (*Docker) Name() string { return "docker" }

// Image is the name of the image that is used.
func (d *Docker) Image() string { return d.options.Image }

// Available asks the engine and pulls the image where it is not there yet, which may take a while the first time.
func (d *Docker) Available(ctx context.Context) error {
	e, err := newEngine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	return errors.Join(e.needImage(ctx, d.options.Image), e.needReaper(ctx))
}

// found describes the engine and the image.
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
	there, err := e.hasImage(ctx, d.options.Image)
	state := "is there"
	if !there {
		state = "will be pulled"
	}
	return fmt.Sprintf("Docker engine %s, image %s %s", version.Version, d.options.Image, state), errors.Join(err, e.needReaper(ctx))
}

// ability is everything, but for the clock, which needs a compiler here and an engine that can see our files.
func (d *Docker) ability(ctx context.Context, name string) error {
	if !isClock(name) {
		return nil
	}
	e, err := newEngine(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	return errors.Join(e.needLocal(), d.shim.try(ctx))
}

// Start brings up the containers.
func (d *Docker) Start(ctx context.Context, spec Spec) (Deployment, error) {
	spec, err := spec.fill()
	if err != nil {
		return nil, err
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
	machines := make([]*dockerMachine, spec.Nodes)
	for i := range machines {
		machines[i] = &dockerMachine{site: site, spec: spec, number: i}
	}
	if spec.ClockFaults {
		if err := errors.Join(e.needLocal(), d.shim.preloadContainers(ctx, site.workspace, machines)); err != nil {
			return nil, errors.Join(err, site.Close())
		}
	}
	return launch(ctx, spec, site, func(i int) machine { return machines[i] })
}

// site is what the containers of one deployment have in common.
type site struct {
	engine    *engine
	workspace *workspace
	image     string
	digest    string
	labels    map[string]string
}

// newSite clears away what dead runs left and makes a directory.
func (e *engine) newSite(ctx context.Context, options DockerOptions) (*site, error) {
	digest, err := e.imageDigest(ctx, options.Image)
	if err != nil {
		return nil, err
	}
	machine, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	e.sweep(ctx, machine)
	// The docker command must talk to the engine that testcontainers has found, which need not be the one it would choose.
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

// sweep removes containers of this machine whose directory has no owner any more. What it cannot remove, it leaves to the next
// run: a leftover must not keep anybody from working.
func (e *engine) sweep(ctx context.Context, machine string) (removed []string) {
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", hostLabel+"="+machine),
	})
	if err != nil {
		return nil
	}
	for _, c := range list.Items {
		if dir := c.Labels[workspaceLabel]; dir == "" || !orphaned(dir) {
			continue
		}
		if _, err := e.api.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{RemoveVolumes: true, Force: true}); err == nil {
			removed = append(removed, c.ID)
		}
	}
	return removed
}

// Close removes the directory and lets the engine go. The containers must be gone before.
func (s *site) Close() error { return errors.Join(s.workspace.Close(), s.engine.Close()) }
