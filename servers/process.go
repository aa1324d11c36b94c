package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockbench/lockbench/impls"
)

// ProcessOptions are the settings of the process provider. The zero value is ready for use.
type ProcessOptions struct {
	Binary  string // the server; "" means redis-server on PATH
	TempDir string // parent of the servers' directories; "" means the system's temp directory
}

// Process starts redis-server processes on free ports of 127.0.0.1, each with its own directory.
// They end at Close and with lockbench.
type Process struct {
	options ProcessOptions
	shim    shim
}

var _ surveyor = (*Process)(nil)

// NewProcess returns the provider. Available and Start report whether there is a redis-server.
func NewProcess(options ProcessOptions) *Process {
	if options.Binary == "" {
		options.Binary = "redis-server"
	}
	return &Process{options: options}
}

func (*Process) Name() string { return "process" }
func (*Process) Guest() bool  { return false }

// Available returns nil, or an error that says how to get redis-server.
func (p *Process) Available(context.Context) error {
	_, err := p.binary()
	return err
}

func (p *Process) binary() (string, error) {
	path, err := exec.LookPath(p.options.Binary)
	if err != nil {
		return "", fmt.Errorf("%w: no %s (%w): apt-get install redis-server, or brew install redis, or dnf install redis",
			ErrMissing, p.options.Binary, err)
	}
	return filepath.Abs(path) // each server has a directory of its own
}

// found returns the first line of redis-server --version and its path.
func (p *Process) found(ctx context.Context) (string, error) {
	path, err := p.binary()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s does not run (%w): apt-get install redis-server", ErrMissing, path, err)
	}
	version, _, _ := strings.Cut(string(out), "\n")
	return fmt.Sprintf("%s (%s)", version, path), nil
}

// ability refuses clock faults if there is no compiler; all else is possible.
func (p *Process) ability(ctx context.Context, a Ability) error {
	if !a.Clock {
		return nil
	}
	return p.shim.try(ctx)
}

// Start starts the servers.
func (p *Process) Start(ctx context.Context, spec Spec) (Deployment, error) {
	spec, err := spec.fill()
	if err != nil {
		return nil, err
	}
	binary, err := p.binary()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		workspace, err := newWorkspace(p.options.TempDir)
		if err != nil {
			return nil, err
		}
		d, err := launch(ctx, spec, workspace, func(i int, known string) (machine, error) {
			m, err := newProcessMachine(spec, workspace, binary, i, known)
			if err != nil || !spec.ClockFaults {
				return m, err
			}
			var object string
			object, m.clock, err = p.shim.install(ctx, m.dir)
			m.env = []string{"LD_PRELOAD=" + object, clockEnv + "=" + m.clock}
			return m, err
		})
		if err == nil || attempt == startAttempts || !errors.Is(err, ErrPortTaken) {
			return d, err
		}
	}
}

func newProcessMachine(spec Spec, workspace *workspace, binary string, i int, known string) (*processMachine, error) {
	dir, err := workspace.subdir(fmt.Sprintf("node-%d", i))
	if err != nil {
		return nil, err
	}
	m := &processMachine{binary: binary, dir: dir}
	if m.port, err = freePort(); err != nil {
		return nil, err
	}
	if i >= spec.Nodes {
		m.args, err = spec.sentinelArgs(dir, dir, m.port, known)
		return m, err
	}
	m.args = append(spec.args(known), "--bind", "127.0.0.1", "--port", fmt.Sprint(m.port),
		"--dir", dir, "--pidfile", dir+"/redis.pid")
	if spec.Topology == impls.Cluster {
		m.args = append(m.args, "--cluster-announce-ip", "127.0.0.1")
	}
	return m, nil
}
