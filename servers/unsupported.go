//go:build !unix

package servers

import (
	"context"
	"fmt"
	"runtime"
)

// errNoUnix: servers of our own need signals, sessions and file locks as Unix has them.
func errNoUnix() error {
	return fmt.Errorf("%w: servers cannot be started on %s: use the Windows Subsystem for Linux, or give the URL of a Redis", ErrMissing, runtime.GOOS)
}

// ProcessOptions are the settings of the process provider.
type ProcessOptions struct{ Binary, TempDir string }

// Process is not available on this system.
type Process struct{ options ProcessOptions }

// NewProcess makes a provider that is not available.
func NewProcess(options ProcessOptions) *Process { return &Process{options} }

// Name is "process".
func (*Process) Name() string { return "process" }

// Available says why not.
func (*Process) Available(context.Context) error { return errNoUnix() }

// Start says why not.
func (*Process) Start(context.Context, Spec) (Deployment, error) { return nil, errNoUnix() }

// DockerOptions are the settings of the docker provider.
type DockerOptions struct{ Image, TempDir string }

// Docker is not available on this system.
type Docker struct{ options DockerOptions }

// NewDocker makes a provider that is not available.
func NewDocker(options DockerOptions) *Docker { return &Docker{options} }

// Name is "docker".
func (*Docker) Name() string { return "docker" }

// Image is the name of the image that would be used.
func (d *Docker) Image() string { return d.options.Image }

// Available says why not.
func (*Docker) Available(context.Context) error { return errNoUnix() }

// Start says why not.
func (*Docker) Start(context.Context, Spec) (Deployment, error) { return nil, errNoUnix() }

func writeShift(string, shift) error { return errNoUnix() }
