package impls

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Yes reads a reply that means yes (1, OK) or no (anything else, nil above all).
func Yes(cmd *redis.Cmd) (bool, error) {
	v, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return v == int64(1) || v == "OK", err
}

// Unsettled marks an error that came after an earlier command of the same call had changed the server: whatever
// happened to the later command, the call cannot be said to have had no effect. nil stays nil.
func Unsettled(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w: %w", ErrUnknownOutcome, ErrCancelled, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}
