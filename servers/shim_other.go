//go:build unix && !linux

package servers

import (
	"context"
	"fmt"
	"runtime"
)

func errNoShim() error {
	return fmt.Errorf("%w: clock faults preload a shim into redis-server, which works on Linux only, not on %s", ErrMissing, runtime.GOOS)
}

// shim is the preload object, which is unavailable here.
type shim struct{}

func (*shim) try(context.Context) error { return errNoShim() }

func (*shim) install(context.Context, string) (object, clock string, err error) {
	return "", "", errNoShim()
}

func writeShift(string, shift) error { return errNoShim() }
