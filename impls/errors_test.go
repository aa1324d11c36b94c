package impls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentinels are the outcomes; every error matches exactly one, except after a cancelled call.
var sentinels = []error{ErrBusy, ErrNotHeld, ErrLost, ErrUnavailable, ErrCancelled, ErrUnknownOutcome, ErrUnsupported}

func TestClassifyIn(t *testing.T) {
	timeout := func(op string) error { return &net.OpError{Op: op, Net: "tcp", Err: os.ErrDeadlineExceeded} }
	rows := []struct {
		name string
		err  error
		over bool // the context has ended
		want []error
	}{
		{"no error", nil, false, nil},
		{"the connection broke before the reply", io.EOF, false, []error{ErrUnknownOutcome}},
		{"no reply in time", timeout("read"), false, []error{ErrUnknownOutcome}},
		{"no reply before the call's deadline", timeout("read"), true, []error{ErrUnknownOutcome, ErrCancelled}},
		{"half a request", timeout("write"), false, []error{ErrUnavailable}},
		{"the call's deadline came before the request was out", timeout("write"), true, []error{ErrCancelled}},
		{"no connection", timeout("dial"), false, []error{ErrUnavailable}},
		{"no connection before the call's deadline", timeout("dial"), true, []error{ErrCancelled}},
		{"no free connection", redis.ErrPoolTimeout, false, []error{ErrUnavailable}},
		{"a client library gave up by context, sent or not", context.Canceled, true, []error{ErrUnknownOutcome, ErrCancelled}},
		{"the server refused", refusal("LOADING"), false, []error{ErrUnavailable}},
		{"already classified", fmt.Errorf("x: %w", ErrBusy), false, []error{ErrBusy}},
		{"busy, and the context ended since", ErrBusy, true, []error{ErrBusy}},
		{"unsettled: an earlier command had an effect", Unsettled(timeout("dial")), false, []error{ErrUnknownOutcome}},
		{"unsettled, cancelled", Unsettled(context.Canceled), false, []error{ErrUnknownOutcome, ErrCancelled}},
	}
	for _, row := range rows {
		ctx, cancel := context.WithCancel(t.Context())
		if row.over {
			cancel()
		}
		got := ClassifyIn(ctx, "acquire job", row.err)
		for _, s := range sentinels {
			want := false
			for _, w := range row.want {
				want = want || w == s
			}
			if errors.Is(got, s) != want {
				t.Errorf("%s: %v: is %q: %v, want %v", row.name, got, s, !want, want)
			}
		}
		cancel()
	}
}

func TestConnectionFailed(t *testing.T) {
	rows := []struct {
		name string
		err  error
		want bool
	}{
		{"no reply in time", &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, true},
		{"the other side closed it", fmt.Errorf("release: %w", io.EOF), true},
		{"it broke within a reply", io.ErrUnexpectedEOF, true},
		{"written to after this side closed it", io.ErrClosedPipe, true},
		{"used after this side closed it", net.ErrClosed, true},
		{"an error reply came over it", refusal("LOADING"), false},
		{"a lock's own error", errors.New("somebody else holds it"), false},
		{"none", nil, false},
	}
	for _, row := range rows {
		if got := ConnectionFailed(row.err); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// refusal is an error reply.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestADeadlineThatHasPassedCountsBeforeItsTimer(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if !Ended(ctx) || Ended(t.Context()) {
		t.Errorf("Ended: %v for a deadline in the past, %v for none", Ended(ctx), Ended(t.Context()))
	}
}
