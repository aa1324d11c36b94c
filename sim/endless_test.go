package sim

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/upstream"
)

// acquires is a lock of which only the acquiring does something.
type acquires struct {
	impls.Lock
	do func(ctx context.Context) error
}

func (l acquires) Acquire(ctx context.Context, _ history.Mode) (impls.Grant, error) {
	return impls.Grant{}, l.do(ctx)
}
func (acquires) Release(context.Context) error { return nil }
func (acquires) Close() error                  { return nil }

// acting returns a lock that does something to acquire, and grants everything.
func acting(name string, do func(ctx context.Context, env impls.Env) error) impls.Variant {
	return impls.Variant{Name: name, Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
		return acquires{do: func(ctx context.Context) error { return do(ctx, env) }}, nil
	}}
}

// leavesEnv marks a process of tests that leaves goroutines behind.
const leavesEnv = "LOCKBENCH_TEST_LEAVES"

// TestEndlessLoop: a simulation that has no process of its own ends, though virtual time stands
// still for ever; it waits for what ends by itself.
func TestEndlessLoop(t *testing.T) {
	if os.Getenv(leavesEnv) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestEndlessLoop$")
		child.Env = append(os.Environ(), leavesEnv+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	outside := func(d time.Duration) { // a signal ends it early
		span := unix.NsecToTimeval(int64(d))
		_, _ = unix.Select(0, nil, nil, nil, &span)
	}
	for _, row := range []struct {
		name  string
		after time.Duration
		do    func(ctx context.Context, env impls.Env) error
		where string // "": it ends
	}{
		{"waits outside for a while", 300 * time.Millisecond, func(context.Context, impls.Env) error {
			outside(time.Second)
			return nil
		}, ""},
		{"waits outside", 20 * time.Millisecond, func(context.Context, impls.Env) error {
			outside(time.Minute)
			return nil
		}, "sim.TestEndlessLoop"},
		{"dials again and again", 300 * time.Millisecond, func(ctx context.Context, env impls.Env) error {
			for {
				if c, err := env.Dial(ctx, "tcp", env.Addrs[0]); err == nil {
					_ = c.Close() // a simulated connection
				}
			}
		}, "sim.TestEndlessLoop"},
		{"has a script without end", 300 * time.Millisecond, func(ctx context.Context, env impls.Env) error {
			return env.Redis().Eval(ctx, "while true do end", nil).Err()
		}, "fakeredis.(*luaHost).run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := New(nil)
			t.Cleanup(h.Close)
			h.endlessAfter = row.after
			p := DefaultProgram(acting("endless", row.do))
			p.Clients, p.Config.Ops, p.Load = 1, 1, "hot"
			out, err := h.Schedule(p, ByDefault{}, Bounds{}, false)
			if err != nil {
				t.Fatal(err)
			}
			if out.Endless != (row.where != "") || !strings.Contains(out.Crash, row.where) || out.Unexplorable {
				t.Errorf("endless: %v, want %q in %s", out.Endless, row.where, out.Crash)
			}
		})
	}
}

func TestMain(m *testing.M) {
	upstream.SilenceRedisLog()
	if os.Getenv(leavesEnv) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}
