//go:build unix && !linux

package servers

import (
	"context"
	"fmt"
	"runtime"
)

// errNoShim says why clocks cannot be shifted here.
func errNoShim() error {
	return fmt.Errorf("%w: clock faults preload a shim into redis-server, which works on Linux only, not on %s", ErrMissing, runtime.GOOS)
}

func tryShim(context.Context) error                                      { return errNoShim() }
func preload(context.Context, *estate, []*processMachine) error          { return errNoShim() }
func preloadContainers(context.Context, *estate, []*dockerMachine) error { return errNoShim() }
func writeShift(string, shift) error                                     { return errNoShim() }
