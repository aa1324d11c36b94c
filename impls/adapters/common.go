package adapters

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// exclusive refuses shared mode, which none of the libraries has.
func exclusive(env impls.Env, mode history.Mode) error {
	if mode == history.Shared {
		return fmt.Errorf("acquire %s shared: %w", env.Key, impls.ErrUnsupported)
	}
	return nil
}

// named wraps a sentinel and the library's error text with the failed call.
func named(what string, sentinel, err error) error {
	return fmt.Errorf("%s: %w: %v", what, sentinel, err)
}

// byClientsClock converts a time of the machine's clock, which the libraries use, to the client's.
func byClientsClock(env impls.Env, t time.Time) time.Time {
	return env.Clock.Now().Add(time.Until(t))
}
