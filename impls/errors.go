package impls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The outcomes of a call on a lock other than success.
var (
	// ErrBusy means that another client holds the lock.
	ErrBusy = errors.New("busy")
	// ErrNotHeld means that the handle, or the caller according to the server, does not hold the
	// lock.
	ErrNotHeld = errors.New("not held")
	// ErrLost means that the handle held the lock, and the server replied that it no longer does.
	ErrLost = errors.New("lost")
	// ErrUnavailable means that the server was not reached or replied with an error; the call had
	// no effect.
	ErrUnavailable = errors.New("unavailable")
	// ErrCancelled means that the context ended before the lock was granted; the call had no
	// lasting effect.
	ErrCancelled = errors.New("cancelled")
	// ErrUnknownOutcome means that a request was sent and no reply came; it may take effect, now or
	// later.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrUnsupported means that the lock or the server does not support the call.
	ErrUnsupported = errors.New("unsupported")
	// ErrCrashed is returned by a client's connections and clock after the client was killed. Calls
	// under way then have an unknown outcome.
	ErrCrashed = errors.New("client crashed")
)

// Classify wraps an error of the Redis client with what, such as "acquire job", and with a
// sentinel: ErrUnavailable if the request cannot have had an effect, ErrUnknownOutcome if it was
// sent and not answered, and also ErrCancelled if the context ended. It adds no sentinel to an
// error that has one. It returns nil for nil.
func Classify(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, s := range []error{ErrBusy, ErrNotHeld, ErrLost, ErrUnavailable, ErrCancelled, ErrUnknownOutcome, ErrUnsupported} {
		if errors.Is(err, s) {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	// After an error reply (LOADING, READONLY, WRONGTYPE, CROSSSLOT, …) the server did nothing. A
	// script that fails halfway keeps its writes, but such errors name the script.
	var reply redis.Error
	refused := errors.As(err, &reply) && !errors.Is(err, redis.Nil)
	// No connection was available, or the request was not written as a whole: a server ignores half a
	// request.
	var op *net.OpError
	neverSent := errors.As(err, &op) && (op.Op == "dial" || op.Op == "write") ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed) || strings.Contains(err.Error(), "connection pool")
	switch {
	case refused, neverSent:
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: %w: %w", what, ErrUnknownOutcome, ErrCancelled, err)
	}
	return fmt.Errorf("%s: %w: %w", what, ErrUnknownOutcome, err)
}

// ConnectionFailed reports whether err comes from a connection: it timed out, or was closed or cut
// by either side. A lock's own errors do not.
func ConnectionFailed(err error) bool {
	var op interface{ Timeout() bool } // any net.Error
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed)
}

// ClassifyIn is Classify for a call under ctx. If ctx has ended, a request that cannot have had an
// effect is ErrCancelled alone, and one that was sent and not answered is both ErrCancelled and
// ErrUnknownOutcome.
func ClassifyIn(ctx context.Context, what string, err error) error {
	return endedBy(ctx, Classify(what, err))
}

// endedBy adds ErrCancelled to a classified error if ctx has ended.
func endedBy(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrCancelled), !Ended(ctx):
		return err
	case errors.Is(err, ErrUnknownOutcome):
		return fmt.Errorf("%w: %w", ErrCancelled, err)
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%w: %v", ErrCancelled, err)
	}
	return err
}

// Ended reports whether ctx has ended or is past its deadline: a connection's deadline, which is
// the context's, may expire before the context's own timer.
func Ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// Yes reports whether a reply is 1 or OK. Any other reply, such as nil, is no.
func Yes(cmd *redis.Cmd) (bool, error) {
	v, err := cmd.Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return v == int64(1) || v == "OK", err
}

// Unsettled adds ErrUnknownOutcome to an error after an earlier command of the same call has
// changed the server. It returns nil for nil.
func Unsettled(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w: %w", ErrUnknownOutcome, ErrCancelled, err)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}
