package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"

	"github.com/lockbench/lockbench/history"
)

const (
	redisPort  = 6379
	dataInside = "/lockbench-data"
	logLines   = "20" // shown of a container that ended by itself
)

// dockerMachine is one container. It keeps the container when its server is killed.
type dockerMachine struct {
	site  *site
	args  []string
	clock string   // file of the shifted clock on the host; "" without one
	data  string   // the server's directory on the host; "": in the container
	binds []string // files for the container
	env   map[string]string
	port  int // on this machine's network; 0: the container has its own, and its port is published

	container *testcontainers.DockerContainer // nil until created

	mu        sync.Mutex // guards the addresses, which change during faults
	published string     // host:port for clients; "" while it is down
	inside    string     // address for the other containers
}

func (m *dockerMachine) start(ctx context.Context) (err error) {
	if m.container != nil {
		err = m.container.Start(ctx)
	} else {
		var exposed []string
		if m.port == 0 {
			exposed = []string{fmt.Sprintf("%d/tcp", redisPort)}
		}
		// A container that did not start is kept, so that close removes it.
		m.container, err = testcontainers.Run(ctx, m.site.image,
			testcontainers.WithLogger(tclog.NewNoopLogger()),
			testcontainers.WithExposedPorts(exposed...),
			testcontainers.WithLabels(m.site.labels),
			testcontainers.WithEnv(m.env),
			testcontainers.WithCmd(append([]string{"redis-server"}, m.args...)...),
			testcontainers.WithHostConfigModifier(func(h *container.HostConfig) {
				h.Binds = m.binds
				if m.port != 0 {
					h.NetworkMode = "host"
					return
				}
				listen := netip.IPv4Unspecified()
				if m.site.engine.host.IsLoopback() {
					listen = m.site.engine.host // not for other machines: the server has no password
				}
				port, _ := network.PortFrom(redisPort, network.TCP)
				h.PortBindings = network.PortMap{port: {{HostIP: listen}}}
			}),
		)
	}
	if err != nil {
		return err
	}
	return poll(ctx, "publish its port", func() (bool, error) { return m.lookUp(ctx) })
}

// lookUp reads the current addresses from the engine, and reports whether they are there yet.
func (m *dockerMachine) lookUp(ctx context.Context) (bool, error) {
	state, err := m.container.Inspect(ctx)
	if err != nil {
		return false, err
	}
	if !state.State.Running {
		return false, m.ended(ctx, state.State)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.port != 0 {
		m.inside, m.published = m.site.engine.host.String(), net.JoinHostPort(m.site.engine.host.String(), fmt.Sprint(m.port))
		return true, nil
	}
	for port, bindings := range state.NetworkSettings.Ports {
		if port.Num() == redisPort && len(bindings) > 0 {
			m.published = net.JoinHostPort(m.site.engine.host.String(), bindings[0].HostPort)
		}
	}
	for _, endpoint := range state.NetworkSettings.Networks {
		m.inside = endpoint.IPAddress.String()
	}
	return m.published != "" && m.inside != "", nil
}

func (m *dockerMachine) addr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.published
}

func (m *dockerMachine) peer() (string, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inside, cmp.Or(m.port, redisPort)
}

func (m *dockerMachine) clockPath() string        { return m.clock }
func (m *dockerMachine) dataDir() string          { return m.data }
func (m *dockerMachine) identity() history.Server { return history.Server{Image: m.site.digest} }

func (m *dockerMachine) alive(ctx context.Context) error {
	state, err := m.container.Inspect(ctx)
	if err != nil || state.State.Running {
		return err
	}
	return m.ended(ctx, state.State)
}

// ended returns an error with the last lines of the container's log.
func (m *dockerMachine) ended(ctx context.Context, state *container.State) error {
	var text strings.Builder
	logs, err := m.site.engine.api.ContainerLogs(ctx, m.container.ID,
		client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: logLines})
	if err == nil {
		_, err = stdcopy.StdCopy(&text, &text, logs)
		err = errors.Join(err, logs.Close())
	}
	if err != nil {
		fmt.Fprintf(&text, "(no log: %v)", err)
	}
	return fmt.Errorf("container ended with code %d %s; its log ends in:\n%s", state.ExitCode, state.Error, text.String())
}

func (m *dockerMachine) kill(ctx context.Context) error {
	_, err := m.site.engine.api.ContainerKill(ctx, m.container.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil {
		return err
	}
	if err := m.until(ctx, "die", func(s *container.State) bool { return !s.Running }); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published = ""
	return nil
}

func (m *dockerMachine) pause(ctx context.Context) error {
	if _, err := m.site.engine.api.ContainerPause(ctx, m.container.ID, client.ContainerPauseOptions{}); err != nil {
		return err
	}
	return m.until(ctx, "stop", func(s *container.State) bool { return s.Paused })
}

func (m *dockerMachine) resume(ctx context.Context) error {
	if _, err := m.site.engine.api.ContainerUnpause(ctx, m.container.ID, client.ContainerUnpauseOptions{}); err != nil {
		return err
	}
	return m.until(ctx, "run again", func(s *container.State) bool { return !s.Paused })
}

// until waits until the container's state satisfies so.
func (m *dockerMachine) until(ctx context.Context, what string, so func(*container.State) bool) error {
	return poll(ctx, what, func() (bool, error) {
		state, err := m.container.Inspect(ctx)
		return err == nil && so(state.State), err
	})
}

// close removes the container in any state. It has its own context, as the run's may have ended.
func (m *dockerMachine) close() error {
	if m.container == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearingTime)
	defer cancel()
	err := m.container.Terminate(ctx, testcontainers.StopTimeout(0))
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove container %s: %w", m.container.ID[:12], err)
	}
	return nil
}
