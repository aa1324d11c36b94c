package impls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The outcomes of a call on a lock that are not success.
var (
	// ErrBusy: the server answered that another client holds the lock.
	ErrBusy = errors.New("busy")
	// ErrNotHeld: this handle holds nothing, or the server answered that the caller is not the holder.
	ErrNotHeld = errors.New("not held")
	// ErrLost: this handle did hold the lock, and the server answered that the hold is gone or another's.
	ErrLost = errors.New("lost")
	// ErrUnavailable: the server could not be asked, or refused to answer; the call had no effect.
	ErrUnavailable = errors.New("unavailable")
	// ErrCancelled: the context ended before the lock was granted; the call had no lasting effect.
	ErrCancelled = errors.New("cancelled")
	// ErrUnknownOutcome: a request was sent and its reply never seen; it may take effect, now or later.
	ErrUnknownOutcome = errors.New("unknown outcome")
	// ErrUnsupported: the variant, or the server, cannot do this.
	ErrUnsupported = errors.New("unsupported")
	// ErrCrashed is not an outcome of a lock: it is what a client's connections and clock answer after the client was
	// killed. What was under way then has an unknown outcome.
	ErrCrashed = errors.New("client crashed")
)

// Classify wraps an error of the Redis client with the sentinel that says what is known about the request:
// ErrUnavailable when it cannot have had an effect, ErrUnknownOutcome when it was sent and not answered, joined with
// ErrCancelled when the context ended as well. what names the thing that failed, such as "acquire job". An error
// that already matches a sentinel is only wrapped with the noun. nil stays nil.
func Classify(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case classified(err):
		return fmt.Errorf("%s: %w", what, err)
	case refusedByServer(err), neverSent(err):
		return fmt.Errorf("%s: %w: %w", what, ErrUnavailable, err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: %w: %w", what, ErrUnknownOutcome, ErrCancelled, err)
	}
	return fmt.Errorf("%s: %w: %w", what, ErrUnknownOutcome, err)
}

func classified(err error) bool {
	for _, s := range []error{ErrBusy, ErrNotHeld, ErrLost, ErrUnavailable, ErrCancelled, ErrUnknownOutcome, ErrUnsupported} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// refusedByServer tells a reply that is an error (LOADING, READONLY, WRONGTYPE, CROSSSLOT, …): the server was
// reached and did nothing. A script that fails halfway keeps its writes, but such errors name the script.
func refusedByServer(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !errors.Is(err, redis.Nil)
}

// neverSent tells a failure to get a connection, or to hand the whole request to it: the Redis client then closes the
// connection, and a server does nothing for half a request.
func neverSent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "write") {
		return true
	}
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) ||
		errors.Is(err, redis.ErrClosed) || strings.Contains(err.Error(), "connection pool")
}

// ClassifyIn is Classify for a call under ctx: when ctx is over, a request that cannot have had an effect was
// cancelled (ErrCancelled alone), and one that was sent and not answered is cancelled and unknown.
func ClassifyIn(ctx context.Context, what string, err error) error {
	return endedBy(ctx, Classify(what, err))
}

// endedBy says of a classified error that the context ended the call.
func endedBy(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrCancelled), !over(ctx):
		return err
	case errors.Is(err, ErrUnknownOutcome):
		return fmt.Errorf("%w: %w", ErrCancelled, err)
	case errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%w: %v", ErrCancelled, err)
	}
	return err
}

// over reports whether ctx has ended or is past its deadline: a connection's deadline, which is the context's, may strike
// before the context's own timer.
func over(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}
