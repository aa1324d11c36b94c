//go:build !unix

package servers

import (
	"context"
	"fmt"
	"runtime"
)

func errNoUnix() error {
	return fmt.Errorf("%w: servers cannot be started on %s: use the Windows Subsystem for Linux, or give the URL of a Redis", ErrMissing, runtime.GOOS)
}

// ProcessOptions are the settings of the process provider.
type ProcessOptions struct{ Binary, TempDir string }

// missing is a provider that is not available.
type missing struct{}

// Available returns why not.
func (missing) Guest() bool                     { return false }
func (missing) Available(context.Context) error { return errNoUnix() }

// Start returns why not.
func (missing) Start(context.Context, Spec) (Deployment, error) { return nil, errNoUnix() }

// Process is not available on this system.
type Process struct{ missing }

// NewProcess returns a provider that is not available.
func NewProcess(ProcessOptions) *Process { return &Process{} }

// Name returns "process".
func (*Process) Name() string { return "process" }

// DockerOptions are the settings of the docker provider.
type DockerOptions struct{ Image, TempDir string }

// Docker is not available on this system.
type Docker struct {
	missing
	options DockerOptions
}

// NewDocker returns a provider that is not available.
func NewDocker(options DockerOptions) *Docker { return &Docker{options: options} }

// Name returns "docker".
func (*Docker) Name() string { return "docker" }

// Image returns the name of the image.
func (d *Docker) Image() string { return d.options.Image }

func writeShift(string, shift) error { return errNoUnix() }
