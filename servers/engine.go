package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
)

type engine struct {
	*testcontainers.DockerProvider
	api  client.APIClient
	host netip.Addr // where published ports are reached
}

// configure keeps testcontainers from printing the engine's description to standard error through
// its global logger, and from starting Ryuk, its own reaper, whose image it would pull. It reads
// the variable once, before its first use. OnceFunc avoids a race.
var configure = sync.OnceValue(func() error {
	tclog.SetDefault(tclog.NewNoopLogger())
	return os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
})

// newEngine connects to the engine. If there is none, the error says how to get one.
func newEngine(ctx context.Context) (*engine, error) {
	missing := func(err error) error {
		return fmt.Errorf("%w: no Docker engine answers (%w): start Docker (systemctl start docker), or set DOCKER_HOST", ErrMissing, err)
	}
	if err := configure(); err != nil {
		return nil, err
	}
	p, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(tclog.NewNoopLogger()))
	if err != nil {
		return nil, missing(err)
	}
	e := &engine{DockerProvider: p, api: p.Client()}
	if _, err := e.api.Ping(ctx, client.PingOptions{}); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), e.Close())
		}
		return nil, errors.Join(missing(err), e.Close())
	}
	name, err := p.DaemonHost(ctx)
	if name == "localhost" {
		name = "127.0.0.1"
	}
	var there []netip.Addr
	if err == nil {
		if e.host, err = netip.ParseAddr(name); err == nil {
			return e, nil
		}
		there, err = net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("address of the Docker engine: %w", err), e.Close())
	}
	e.host = there[0]
	return e, nil
}

// needLocal refuses an engine on another machine, which cannot map files and ports of this one.
func (e *engine) needLocal(what string) error {
	if e.host.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s: the Docker engine is at %s, and must be on this machine: %w", what, e.host, ErrRefused)
}

func noImage(image string, err error) error {
	return fmt.Errorf("%w: image %s is missing and cannot be pulled (%w): name another in %s, or make one from this machine's redis-server with scripts/redis-image.sh",
		ErrMissing, image, err, ImageEnv)
}
