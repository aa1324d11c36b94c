package beyond

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// The release grants the lock to the waiter: between the two the waiter sends nothing, and its
// fence is the one on the list.
func TestAReleaseHandsOver(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b, c := join(t, s, "handoff", "a"), join(t, s, "handoff", "b"), join(t, s, "handoff", "c")
		a.Asks(t, "holder", write, nil)
		got := b.Waits(t.Context(), write)
		synctest.Wait()
		sent := b.Record()
		released := time.Now()
		a.Leaves(t, "holder", nil)
		o := <-got
		redistest.WantErr(t, "waiter", o.Err, nil)
		c.Asks(t, "it is the waiter's", write, impls.ErrBusy)
		if o.At != released {
			t.Errorf("the hand-over took %v of virtual time, want none", o.At.Sub(released))
		}
		if lines := sent.Take(); len(lines) != 0 {
			t.Errorf("the waiter sent %q, want nothing", lines)
		}
		if o.Grant.Fence == 0 {
			t.Error("the grant has no fence")
		}
		b.Leaves(t, "waiter", nil)
		for _, k := range slices.Sorted(maps.Keys(s.Live.Left())) {
			if !strings.HasSuffix(k, fenceKey) {
				t.Errorf("%s is left behind", k)
			}
		}
	})
}

// What is handed over lasts until the waiter's place ends, a lease after its last asking: the
// waiter knows that, and no more.
func TestAHandOverIsGoodFromTheLastAsking(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, b := join(t, s, "handoff", "a"), join(t, s, "handoff", "b")
		a.Asks(t, "holder", write, nil)
		asked := time.Now()
		got := b.Waits(t.Context(), write)
		time.Sleep(lease / 4)
		a.Leaves(t, "holder", nil)
		o := <-got
		if o.Grant.ValidUntil.After(asked.Add(lease)) || o.Grant.ValidUntil.Before(asked.Add(lease*9/10)) {
			t.Errorf("valid for %v from the asking, want about %v", o.Grant.ValidUntil.Sub(asked), lease)
		}
		b.Leaves(t, "waiter", nil)
	})
}

// held lets one client hold, and another wait for the lock until it is cancelled; the third has not
// asked yet.
func held(t *testing.T, s *redistest.Server) (holder, third redistest.Party, waiter <-chan redistest.Outcome, cancel func()) {
	t.Helper()
	a, b, c := join(t, s, "handoff", "a"), join(t, s, "handoff", "b"), join(t, s, "handoff", "c")
	a.Asks(t, "holder", write, nil)
	ctx, cancel := context.WithCancel(t.Context())
	got := b.Waits(ctx, write)
	synctest.Wait()
	return a, c, got, cancel
}

// A wait that is cancelled while the server blocks ends at once, and the lock that was granted to
// it meanwhile goes to the next.
func TestACancelledWaitHandsOn(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, c, first, cancel := held(t, s)
		second := c.Waits(t.Context(), write)
		synctest.Wait()
		began := time.Now()
		cancel()
		o := <-first
		redistest.WantErr(t, "cancelled waiter", o.Err, impls.ErrCancelled)
		if waited := o.At.Sub(began); waited != 0 {
			t.Errorf("the cancelled wait went on for %v", waited)
		}
		a.Leaves(t, "holder", nil)
		redistest.WantErr(t, "next waiter", (<-second).Err, nil)
		c.Leaves(t, "next waiter", nil)
	})
}

// A wait that is cancelled and cannot be withdrawn keeps its place: the next release grants it the
// lock, so its outcome is unknown.
func TestAWaitThatIsNotWithdrawn(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		a, c, got, cancel := held(t, s)
		s.Live.Fail("LOADING Redis is loading the dataset in memory")
		cancel()
		o := <-got
		redistest.WantErr(t, "cancelled waiter", o.Err, impls.ErrCancelled)
		redistest.WantErr(t, "cancelled waiter", o.Err, impls.ErrUnknownOutcome)
		s.Live.Fail("")
		a.Leaves(t, "holder", nil)
		c.Asks(t, "it was handed over", write, impls.ErrBusy)
	})
}

// A wait whose context has ended asks the server nothing: a request that races with the closing of
// its connection is sent or not by chance.
func TestAWaitAfterItsContextEndedSendsNothing(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		base, _ := s.Client(t).Env(t, "a", lease).Redis().(*redis.Client)
		options := *base.Options()
		options.Dialer = func(context.Context, string, string) (net.Conn, error) {
			t.Error("a connection was opened")
			return nil, net.ErrClosed
		}
		client := redis.NewClient(&options)
		defer client.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := (&lock{blocked: client}).pop(ctx, lease, "list"); !errors.Is(err, context.Canceled) {
			t.Errorf("pop returned %v, want %v", err, context.Canceled)
		}
	})
}

// A waiter that crashes after its request never names the list to which a release then pushes: the
// name follows from its token.
func TestAListIsKnownFromTheAsking(t *testing.T) {
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		how := handoff()
		opened, err := how.open(s.Client(t).Env(t, "a", lease))
		if err != nil {
			t.Fatal(err)
		}
		l := opened.(*lock)
		call := func(script *impls.Script, token string, waits string) []string {
			args := []string{token, "1000", l.wakes, waits}
			if err := script.Run(t.Context(), l.env.Redis(), l.keys, args[0], args[1], args[2], args[3]).Err(); err != nil {
				t.Fatal(err)
			}
			return waiterLists{}.Derived(l.keys, args)
		}
		if lists := call(how.take[write], "holder", "0"); len(lists) != 0 {
			t.Errorf("who does not wait has lists %q", lists)
		}
		lists := call(how.take[write], "waiter", "1")
		call(how.end[write], "holder", "0")
		if left := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Live.Left())), func(k string) bool { return slices.Contains(l.keys, k) }); !slices.Equal(left, lists) {
			t.Errorf("the release made %q, the call returned %q", left, lists)
		}
	})
}
