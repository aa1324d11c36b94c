package impls_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/impls"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const retry = 50 * time.Millisecond

// world is one server and a client whose connections can be cut.
type world struct {
	server *fakeredis.Live
	client *redis.Client
	mu     sync.Mutex
	conns  []net.Conn
	refuse bool
}

func newWorld(t *testing.T) *world {
	server, err := fakeredis.NewLive()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{server: server}
	w.client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: w.dial, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	t.Cleanup(w.server.Close)
	t.Cleanup(func() { _ = w.client.Close() })
	return w
}

func (w *world) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.refuse {
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
	c := w.server.Dial()
	w.conns = append(w.conns, c)
	return c, nil
}

// cut closes every connection, and refuses new ones while refuse is true.
func (w *world) cut(refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns, w.refuse = nil, refuse
}

func (w *world) listen(t *testing.T) *impls.Listener {
	l := impls.Listen(t.Context(), w.client, impls.SystemClock{}, "bell", retry)
	t.Cleanup(l.Close)
	return l
}

// slept is how long a Sleep with a limit of a minute lasts.
func slept(t *testing.T, l *impls.Listener) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := l.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestAPublicationEndsTheSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.listen(t)
		if d := slept(t, l); d != 0 {
			t.Errorf("slept %v; what was published before the subscription began would be missed", d)
		}
		time.AfterFunc(7*time.Second, func() { w.server.Do("PUBLISH", "bell", "") })
		if d := slept(t, l); d != 7*time.Second {
			t.Errorf("slept %v, want 7s", d)
		}
		w.server.Do("PUBLISH", "bell", "")
		synctest.Wait()
		if d := slept(t, l); d != 0 {
			t.Errorf("slept %v over a publication that came between two sleeps", d)
		}
		if d := slept(t, l); d != time.Minute {
			t.Errorf("slept %v, want the limit: every wake-up counts once", d)
		}
	})
}

func TestALostConnectionWakesAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.listen(t)
		slept(t, l)
		time.AfterFunc(3*time.Second, func() { w.cut(true) })
		if d := slept(t, l); d != 3*time.Second {
			t.Errorf("slept %v, want 3s: a message may have been lost with the connection", d)
		}
		if d := slept(t, l); d > retry {
			t.Errorf("slept %v without a subscription, want at most %v", d, retry)
		}
		w.cut(false)
		for slept(t, l) < time.Minute {
		}
		time.AfterFunc(time.Second, func() { w.server.Do("PUBLISH", "bell", "") })
		if d := slept(t, l); d != time.Second {
			t.Errorf("slept %v after the connection came back, want 1s", d)
		}
	})
}

func TestTheEndOfTheContextEndsTheSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		l := w.listen(t)
		slept(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		begin := time.Now()
		if err := l.Sleep(ctx, time.Minute); err != context.DeadlineExceeded || time.Since(begin) != 2*time.Second {
			t.Errorf("%v after %v, want the deadline after 2s", err, time.Since(begin))
		}
	})
}

// Close must not hang in any state: connecting, refused, subscribed, cut.
func TestCloseAtAnyTime(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Microsecond, time.Millisecond, 100 * time.Millisecond} {
		for _, refuse := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				l := impls.Listen(t.Context(), w.client, impls.SystemClock{}, "bell", retry)
				w.cut(refuse)
				time.Sleep(delay)
				l.Close()
				synctest.Wait() // the server notices
				if left := w.server.Do("PUBSUB", "CHANNELS"); left != "[]" {
					t.Errorf("still subscribed to: %s", left)
				}
			})
		}
	}
}

// dead is the clock of a killed client.
type dead struct{ impls.SystemClock }

// Sleep fails at once.
func (dead) Sleep(context.Context, time.Duration) error { return impls.ErrCrashed }

func TestADeadClientStopsListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuse = true
		l := impls.Listen(t.Context(), w.client, dead{}, "bell", retry)
		synctest.Wait() // never returns while the listener tries again and again
		l.Close()
	})
}
