package harness

import (
	"context"
	"sync"
	"time"
)

// clientGrace is for how long clients may finish their rounds after an interrupt. Then what they
// wait for is cancelled, and what they did is judged.
const clientGrace = 2 * time.Second

// Grace returns a context that ends with its parent, or some time after stop was closed. The
// function that it returns releases it, and must be called.
func Grace(parent context.Context, stop <-chan struct{}, after time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-stop:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(after):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watch.Wait()
	}
}
